// SPDX-License-Identifier: GPL-2.0-only
#include "engine/recovery.h"

#include <atomic>
#include <mutex>
#include <span>
#include <thread>
#include <utility>

#include "base/logging.h"
#include "wal/group.h"
#include "wal/redo.h"

namespace rowan {
namespace {

/// Hands the pages of a stretch to the workers, a batch at a time.
class SharedPages {
 public:
  explicit SharedPages(std::vector<uint64_t> pages) : pages_(std::move(pages)) {}

  std::span<const uint64_t> Next() {
    const size_t first = next_.fetch_add(RedoWorker::kBatchPages, std::memory_order_relaxed);
    if (first >= pages_.size()) return {};
    return std::span(pages_).subspan(first, std::min(RedoWorker::kBatchPages,
                                                     pages_.size() - first));
  }
  /// Nobody need go on.
  void Give(const Status& status) {
    std::lock_guard guard(mutex_);
    if (status_.ok()) status_ = status;
    next_.store(pages_.size(), std::memory_order_relaxed);
  }
  void Add(std::vector<RedoWorker::Failure> failures) {
    std::lock_guard guard(mutex_);
    failures_.insert(failures_.end(), failures.begin(), failures.end());
  }
  [[nodiscard]] size_t size() const { return pages_.size(); }
  /// REQUIRES for these: the workers have ended.
  [[nodiscard]] Status status() const { return status_; }
  [[nodiscard]] const std::vector<RedoWorker::Failure>& failures() const { return failures_; }

 private:
  const std::vector<uint64_t> pages_;
  std::atomic<size_t> next_{0};
  std::mutex mutex_;
  Status status_;                             // guarded by mutex_
  std::vector<RedoWorker::Failure> failures_;  // guarded by mutex_
};

void Work(BufferPool* pool, uint32_t workers, SharedPages* pages) {
  RedoWorker worker(pool, workers);
  std::vector<RedoWorker::Failure> failures;
  for (;;) {
    const std::span<const uint64_t> batch = pages->Next();
    if (batch.empty()) break;
    const Status status = worker.Run(batch, &failures);
    if (!status.ok()) pages->Give(status);
  }
  pages->Add(std::move(failures));
}

}  // namespace

Status Recovery::Scan() {
  Result<std::unique_ptr<LogReader>> reader =
      LogReader::Open(file_system_, folder_, control_, control_.checkpoint_lsn);
  if (!reader.ok()) return reader.status();
  LogReader::Group group;
  Status status;
  bool gather = true;
  while ((status = (*reader)->Next(&group)).ok()) {
    const Status scanned = ScanGroup(group, gather);
    if (!scanned.ok()) return scanned;
    if (!gather) continue;
    gathered_end_ = group.end;
    gather = !Full();
  }
  if (!status.Is(Code::kEndOfRange)) return status;
  backlog_.Finish();
  end_ = (*reader)->end();
  if (gather) gathered_end_ = end_;
  return Status::Ok();
}

Status Recovery::ScanGroup(const LogReader::Group& group, bool gather) {
  GroupParser parser(group.bytes);
  RecordView record;
  Status status;
  ++statistics_.groups;
  while (parser.Next(&record, &status)) {
    ++statistics_.records;
    const RedoEntry* entry = FindRedo(record.type);
    if (entry == nullptr) {
      LogError("The redo log holds a record of unknown type {} at LSN {}: it was written by "
               "another version of Rowan. Nothing was changed.",
               static_cast<unsigned>(record.type), group.start.value());
      return Status(Code::kNewerFormat, "unknown redo record type");
    }
    if (record.type == RecordType::kSpaceDropped) dropped_.insert(record.page.space);
    if (gather && !entry->pageless) backlog_.Add(record, group.start, group.end);
  }
  return status;
}

Status Recovery::GatherGroup(const LogReader::Group& group) {
  GroupParser parser(group.bytes);
  RecordView record;
  Status status;
  while (parser.Next(&record, &status)) {
    if (!FindRedo(record.type)->pageless) Gather(record, group);
  }
  return status;
}

void Recovery::Gather(const RecordView& record, const LogReader::Group& group) {
  if (dropped_.contains(record.page.space)) return;
  const uint64_t key = record.page.Packed();
  if (suspended_.contains(key)) {
    if (!FindRedo(record.type)->initialises_page) return;
    suspended_.erase(key);
  }
  backlog_.Add(record, group.start, group.end);
}

Status Recovery::GatherStretch() {
  Result<std::unique_ptr<LogReader>> reader =
      LogReader::Open(file_system_, folder_, control_, gathered_end_);
  if (!reader.ok()) return reader.status();
  backlog_.Clear();
  LogReader::Group group;
  Status status;
  do {
    status = (*reader)->Next(&group);
    if (status.ok()) status = GatherGroup(group);
    if (status.ok()) gathered_end_ = group.end;
  } while (status.ok() && gathered_end_ < end_ && !Full());
  backlog_.Finish();
  // Behind the last group with records may be some without.
  if (status.Is(Code::kEndOfRange)) gathered_end_ = end_;
  return status.Is(Code::kEndOfRange) ? Status::Ok() : status;
}

Status Recovery::Redo(BufferPool* pool, SpaceFiles* files) {
  for (const SpaceId space : dropped_) {
    // The crash came between the log record and the rename of the file.
    const Status status = files->Drop(space);
    if (!status.ok() && !status.Is(Code::kNotFound)) return status;
    pool->ForgetSpace(space);
  }
  pool->BeginRedo(&backlog_);
  Status status = ApplyStretch(pool);
  while (status.ok() && gathered_end_ < end_) {
    status = GatherStretch();
    if (status.ok()) status = ApplyStretch(pool);
  }
  if (!status.ok()) return status;
  statistics_.records_applied = backlog_.records_applied();
  pool->EndRedo();
  backlog_.Clear();
  return status;
}

Status Recovery::ApplyStretch(BufferPool* pool) {
  SharedPages pages(backlog_.PendingPages());
  statistics_.pages += pages.size();
  ++statistics_.stretches;
  std::vector<std::thread> helpers;
  for (uint32_t i = 1; i < options_.workers; ++i) {
    helpers.emplace_back([&] { Work(pool, options_.workers, &pages); });
  }
  Work(pool, options_.workers, &pages);
  for (std::thread& helper : helpers) helper.join();
  return pages.status().ok() ? Judge(pages.failures()) : pages.status();
}

Status Recovery::Judge(const std::vector<RedoWorker::Failure>& failures) {
  for (const RedoWorker::Failure& failure : failures) {
    const SpaceId space = PageId::Unpack(failure.page).space;
    if (failure.status.Is(Code::kNotFound)) {
      if (!dropped_.contains(space)) missing_.insert(space);
    } else if (failure.status.Is(Code::kCorrupt)) {
      suspended_.insert(failure.page);
    } else {
      return failure.status;
    }
  }
  return Status::Ok();
}

Status Recovery::ResolveSuspended(PageAllocator* allocator, SpaceFiles* files) {
  for (const uint64_t packed : suspended_) {
    const PageId id = PageId::Unpack(packed);
    if (!files->IsLive(id.space)) continue;
    const Result<bool> allocated = allocator->IsAllocated(id);
    if (!allocated.ok()) return allocated.status();
    if (!allocated.value()) continue;
    // Read once more for its sentence, if it is the page itself that is wrong.
    (void)allocator->pool()->Fix(id, LatchMode::kShared);
    LogError("Page {} of {} is damaged: the redo log could not be applied to it. The instance is "
             "not opened, so that nothing is lost; restore it from a backup.",
             id.page.value(), files->PathOf(id.space));
    return Status(Code::kCorrupt, "redo does not fit a page", id.page.value());
  }
  return Status::Ok();
}

}  // namespace rowan
