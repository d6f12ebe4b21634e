// SPDX-License-Identifier: GPL-2.0-only
#include "wal/log_source.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace rowan {
namespace {

constexpr size_t kWindowBytesMin = size_t{1} << 20;

}  // namespace

LogSource::LogSource(FileSystem* file_system, std::string folder, const ControlData& control)
    : file_system_(file_system),
      folder_(std::move(folder)),
      instance_id_(control.instance_id),
      file_bytes_(control.log_file_bytes),
      window_(kWindowBytesMin) {}

std::string LogSource::PathOf(uint64_t position) const {
  return folder_ + "/" + LogFileName(position / file_bytes_);
}

Status LogSource::CheckFileOf(uint64_t position) { return OpenFile(position / file_bytes_); }

Status LogSource::FindGap(uint64_t position, uint64_t* missing) {
  const Result<std::vector<std::string>> names = file_system_->List(folder_);
  if (!names.ok()) return names.status();
  const uint64_t first = position / file_bytes_;
  std::set<uint64_t> numbers;
  for (const std::string& name : names.value()) {
    const std::optional<uint64_t> number = ParseLogFileName(name);
    if (number.has_value() && *number >= first) numbers.insert(*number);
  }
  uint64_t next = first;
  for (const uint64_t number : numbers) {
    if (number != next) {
      *missing = next * file_bytes_;
      return Status(Code::kCorrupt, "a log file is missing");
    }
    ++next;
  }
  return Status::Ok();
}

Status LogSource::OpenFile(uint64_t number) {
  if (file_ != nullptr && file_number_ == number) return Status::Ok();
  // Asked for again with each group that is read near the end of the log.
  if (number == unusable_number_) return unusable_status_;
  file_.reset();
  Result<std::unique_ptr<File>> file =
      file_system_->Open(PathOf(number * file_bytes_), {.read_only = true});
  const Status status =
      file.ok() ? CheckLogFileHeader(file.value().get(), {instance_id_, number, file_bytes_})
                : file.status();
  if (status.Is(Code::kNotFound) || status.Is(Code::kCorrupt)) {
    unusable_number_ = number;
    unusable_status_ = status;
  }
  if (!status.ok()) return status;
  file_ = std::move(file).value();
  file_number_ = number;
  return status;
}

Status LogSource::View(uint64_t position, size_t* size_bytes, Bytes* view) {
  const bool before = position < window_start_ || position > window_start_ + window_bytes_;
  if (before || window_start_ + window_bytes_ - position < *size_bytes) {
    const Status status = Fill(position, *size_bytes);
    if (!status.ok()) return status;
  }
  const size_t skip = position - window_start_;
  *view = Bytes(window_.data() + skip, window_bytes_ - skip);
  *size_bytes = std::min(*size_bytes, view->size());
  return Status::Ok();
}

Status LogSource::Fill(uint64_t position, size_t size_bytes) {
  // Keeps what is valid already from `position` on.
  const bool inside = position >= window_start_ && position <= window_start_ + window_bytes_;
  const size_t kept = inside ? window_start_ + window_bytes_ - position : 0;
  if (kept > 0) std::memmove(window_.data(), window_.data() + (position - window_start_), kept);
  window_start_ = position;
  window_bytes_ = kept;
  if (size_bytes > window_.size()) Grow(size_bytes);
  while (window_bytes_ < window_.size()) {
    const uint64_t next = window_start_ + window_bytes_;
    const Status opened = OpenFile(next / file_bytes_);
    if (opened.Is(Code::kNotFound) || opened.Is(Code::kCorrupt)) break;
    if (!opened.ok()) return opened;
    const uint64_t file_end = (next / file_bytes_ + 1) * file_bytes_;
    const size_t chunk = std::min<uint64_t>(window_.size() - window_bytes_, file_end - next);
    const Status status =
        file_->Read(OffsetOf(next), MutableBytes(window_.data() + window_bytes_, chunk));
    if (!status.ok()) return status;
    window_bytes_ += chunk;
  }
  return Status::Ok();
}

void LogSource::Grow(size_t size_bytes) {
  AlignedBuffer larger(std::bit_ceil(size_bytes));
  std::memcpy(larger.data(), window_.data(), window_bytes_);
  window_ = std::move(larger);
}

}  // namespace rowan
