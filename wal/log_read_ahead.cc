// SPDX-License-Identifier: GPL-2.0-only
#include "wal/log_read_ahead.h"

#include <cstring>
#include <utility>

#include "base/start_thread.h"

namespace rowan {
namespace {

/// Read before the thread starts: reading this takes a few milliseconds, as starting a thread may.
constexpr size_t kWithoutThreadBytes = size_t{4} << 20;
constexpr size_t kBatchBytes = size_t{512} << 10;
constexpr size_t kBatches = 8;

}  // namespace

LogReadAhead::~LogReadAhead() {
  if (!thread_.joinable()) return;
  {
    const MutexLock guard(&mutex_);
    stop_ = true;
  }
  changed_.NotifyAll();
  thread_.join();
}

Status LogReadAhead::Next(LogReader::Group* group) {
  if (current_ == nullptr) {
    if (alone_ || read_bytes_ < kWithoutThreadBytes || !StartReading()) {
      const Status status = reader_->Next(group);
      if (status.ok()) read_bytes_ += group->bytes.size();
      return status;
    }
    Take();
  }
  while (next_group_ == current_->groups.size()) {
    if (!current_->status.ok()) return current_->status;
    Take();
  }
  *group = current_->groups[next_group_++];
  return Status::Ok();
}

bool LogReadAhead::StartReading() {
  {
    const MutexLock guard(&mutex_);
    for (size_t i = 0; i < kBatches; ++i) empty_.push_back(std::make_unique<Batch>());
  }
  Result<std::thread> thread = StartThread([this] { Run(); });
  alone_ = !thread.ok();
  if (thread.ok()) thread_ = std::move(thread).value();
  return !alone_;
}

void LogReadAhead::Take() {
  const MutexLock guard(&mutex_);
  if (current_ != nullptr) empty_.push_back(std::move(current_));
  changed_.NotifyAll();
  while (ready_.empty()) changed_.Wait(&mutex_);
  current_ = std::move(ready_.front());
  ready_.pop_front();
  next_group_ = 0;
}

void LogReadAhead::Run() {
  for (bool more = true; more;) {
    std::unique_ptr<Batch> batch;
    {
      const MutexLock guard(&mutex_);
      while (!stop_ && empty_.empty()) changed_.Wait(&mutex_);
      if (stop_) return;
      batch = std::move(empty_.back());
      empty_.pop_back();
    }
    Fill(batch.get());
    more = batch->status.ok();
    const MutexLock guard(&mutex_);
    ready_.push_back(std::move(batch));
    changed_.NotifyAll();
  }
}

void LogReadAhead::MakeRoom(Batch* batch, size_t size_bytes) {
  // A batch is filled beyond kBatchBytes by its last group only.
  const size_t capacity = batch->used + size_bytes + kBatchBytes;
  std::unique_ptr<std::byte[]> larger = std::make_unique_for_overwrite<std::byte[]>(capacity);
  if (batch->used > 0) std::memcpy(larger.get(), batch->bytes.get(), batch->used);
  for (LogReader::Group& group : batch->groups) {
    group.bytes = {larger.get() + (group.bytes.data() - batch->bytes.get()), group.bytes.size()};
  }
  batch->bytes = std::move(larger);
  batch->capacity = capacity;
}

void LogReadAhead::Fill(Batch* batch) {
  batch->used = 0;
  batch->groups.clear();
  do {
    LogReader::Group group;
    batch->status = reader_->Next(&group);
    if (!batch->status.ok()) return;
    const size_t size_bytes = group.bytes.size();
    if (batch->capacity - batch->used < size_bytes) MakeRoom(batch, size_bytes);
    std::byte* copy = batch->bytes.get() + batch->used;
    std::memcpy(copy, group.bytes.data(), size_bytes);
    batch->used += size_bytes;
    batch->groups.push_back({group.start, group.end, {copy, size_bytes}});
  } while (batch->used < kBatchBytes);
}

}  // namespace rowan
