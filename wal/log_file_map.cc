// SPDX-License-Identifier: GPL-2.0-only
#include "wal/log_file_map.h"

#include <algorithm>

#include "base/assertions.h"

namespace rowan {

void LogFileMap::Reset(uint64_t number, Lsn start) {
  const MutexLock lock(&mutex_);
  first_number_ = number;
  first_start_ = start;
  ends_.clear();
  end_.store(start, std::memory_order_release);
}

void LogFileMap::Append(uint64_t file_bytes) {
  const MutexLock lock(&mutex_);
  const Lsn end = end_.load(std::memory_order_relaxed) + file_bytes;
  ends_.push_back(end);
  end_.store(end, std::memory_order_release);
}

void LogFileMap::RemoveFirst() {
  const MutexLock lock(&mutex_);
  ROWAN_CHECK(!ends_.empty());
  first_start_ = ends_.front();
  ends_.pop_front();
  ++first_number_;
}

LogFilePlace LogFileMap::AtLocked(size_t index) const {
  const Lsn start = index == 0 ? first_start_ : ends_[index - 1];
  return {first_number_ + index, start, index == ends_.size() ? start : ends_[index]};
}

LogFilePlace LogFileMap::Of(Lsn position) const {
  const std::optional<LogFilePlace> place = Find(position);
  ROWAN_CHECK(place.has_value());
  return *place;
}

std::optional<LogFilePlace> LogFileMap::Find(Lsn position) const {
  const MutexLock lock(&mutex_);
  if (position < first_start_) return std::nullopt;
  const auto found = std::upper_bound(ends_.begin(), ends_.end(), position);
  return AtLocked(static_cast<size_t>(found - ends_.begin()));
}

LogFilePlace LogFileMap::OfNumber(uint64_t number) const {
  const MutexLock lock(&mutex_);
  ROWAN_CHECK(number >= first_number_ && number <= first_number_ + ends_.size());
  return AtLocked(number - first_number_);
}

LogFilePlace LogFileMap::First() const {
  const MutexLock lock(&mutex_);
  return AtLocked(0);
}

uint64_t LogFileMap::next_number() const {
  const MutexLock lock(&mutex_);
  return first_number_ + ends_.size();
}

uint64_t LogFileMap::files() const {
  const MutexLock lock(&mutex_);
  return ends_.size();
}

uint64_t LogFileMap::bytes() const {
  const MutexLock lock(&mutex_);
  return end_.load(std::memory_order_relaxed) - first_start_;
}

}  // namespace rowan
