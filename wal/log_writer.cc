// SPDX-License-Identifier: GPL-2.0-only
#include "wal/log_writer.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/assertions.h"
#include "base/clock.h"
#include "base/counters.h"
#include "base/out_of_memory.h"
#include "base/write_cause.h"
#include "io/resource_shortage.h"

namespace rowan {
namespace {

/// Batches up to this size are copied and padded in one piece: copying 128 KiB takes about 5 us,
/// less than a second system call and, with O_DSYNC, a second sync.
constexpr uint64_t kStagingBytes = uint64_t{128} << 10;
/// Files that were written since the last sync; more have to be had memory for.
constexpr size_t kTouchedFiles = 16;

/// Without memory it is as with the system's: a shortage that may pass.
Result<std::shared_ptr<File>> OpenOrShortage(LogFileSet* files, uint64_t number,
                                             const FileOptions& options) {
  Result<std::shared_ptr<File>> opened =
      OrOutOfMemory([&] { return files->Open(number, options); });
  if (!opened.status().Is(Code::kOutOfMemory)) return opened;
  return Status(Code::kIoError, kMemoryRanOut, ENOMEM);
}

}  // namespace

LogWriter::LogWriter(LogFileSet* files, LogBuffer* buffer, Lsn durable,
                     std::unique_ptr<SyncStrategy> strategy)
    : files_(files),
      buffer_(buffer),
      method_(strategy->method()),
      written_(durable),
      staging_(kStagingBytes),
      strategy_(std::move(strategy)),
      durable_(durable) {
  touched_.reserve(kTouchedFiles);
  syncing_.reserve(kTouchedFiles);
}

Status LogWriter::WriteUpTo(Lsn target) {
  if (written() >= target) return Status::Ok();
  const MutexLock lock(&mutex_);
  if (written() >= target) return Status::Ok();
  const Lsn content_end = buffer_->AwaitContent();
  const Status status =
      WriteRangeLocked(written_.load(std::memory_order_relaxed), content_end, Via::kPlain);
  if (!status.ok()) return status;
  written_.store(content_end, std::memory_order_release);
  return Status::Ok();
}

Result<Lsn> LogWriter::MakeDurable() {
  Lsn target;
  {
    const MutexLock lock(&mutex_);
    target = buffer_->AwaitContent();
    if (target == durable_) return durable_;
    const Status status = WritePendingLocked(target);
    if (!status.ok()) return status;
    written_.store(target, std::memory_order_release);
    syncing_.swap(touched_);
  }
  const Status status = SyncTouched();
  if (!status.ok()) return status;
  durable_ = target;
  latency_.Add(method(), LogPhase::kSync, std::exchange(sync_nanos_, 0));
  AddCounter(Counter::kLogSyncs);
  return target;
}

Status LogWriter::WritePendingLocked(Lsn target) {
  // A write-through covers its own bytes only: what WriteUpTo left with the kernel is written
  // again.
  const bool through = strategy_->kind() == SyncStrategy::Kind::kThrough;
  if (through) touched_.clear();
  const Lsn from = through ? durable_ : written_.load(std::memory_order_relaxed);
  return from < target ? WriteRangeLocked(from, target, Via::kStrategy) : Status::Ok();
}

Status LogWriter::SyncTouched() {
  if (syncing_.empty()) return Status::Ok();  // the writes were the sync
  const uint64_t begin_nanos = MonotonicNanos();
  Status status;
  for (const std::shared_ptr<File>& file : syncing_) {
    status = strategy_->Sync(file.get());
    if (!status.ok()) break;
  }
  syncing_.clear();
  sync_nanos_ += MonotonicNanos() - begin_nanos;
  return status;
}

Status LogWriter::WriteRangeLocked(Lsn from, Lsn target, Via via) {
  const SyncStrategy::Kind kind = strategy_->kind();
  const bool sync_needed = via == Via::kPlain || kind != SyncStrategy::Kind::kThrough;
  for (Lsn position = LogBlockStart(from); position < target;) {
    Result<const Handle*> handle = HandleLocked(position, via);
    if (!handle.ok()) return handle.status();
    const std::shared_ptr<File>& file = (*handle)->file;
    const LogFilePlace& place = (*handle)->place;
    const bool touched_before = !touched_.empty() && touched_.back() == file;
    if (sync_needed && !touched_before) touched_.push_back(file);
    const Piece piece = NextPieceLocked(position, std::min(target, place.end));
    CountPieceLocked(position, piece);
    const bool last = piece.end == target && via == Via::kStrategy;
    Effect effect = sync_needed ? Effect::kHandOver : Effect::kWriteThrough;
    if (last && kind == SyncStrategy::Kind::kCombined) effect = Effect::kWriteAndSync;
    const Status status = WritePieceLocked(file.get(), piece, place.OffsetOf(position), effect);
    if (!status.ok()) return status;
    if (effect == Effect::kWriteAndSync) touched_.pop_back();
    position = piece.end;
  }
  return Status::Ok();
}

void LogWriter::CountPieceLocked(Lsn position, const Piece& piece) {
  const Lsn first_new = std::max(position, written_.load(std::memory_order_relaxed));
  const uint64_t fresh = piece.end - std::min(first_new, piece.end);
  CountWritten(WriteCause::kRedo, fresh);
  CountWritten(WriteCause::kRedoPadding, piece.bytes.size() - fresh);
}

Status LogWriter::WritePieceLocked(File* file, const Piece& piece, uint64_t offset, Effect effect) {
  AddCounter(Counter::kLogWrites);
  const uint64_t begin_nanos = MonotonicNanos();
  const Status status = effect == Effect::kWriteAndSync
                            ? strategy_->WriteAndSync(file, offset, piece.bytes)
                            : file->Write(offset, piece.bytes);
  const uint64_t nanos = MonotonicNanos() - begin_nanos;
  if (effect == Effect::kHandOver) {
    latency_.Add(method(), LogPhase::kWrite, nanos);
  } else {
    sync_nanos_ += nanos;
  }
  return status;
}

LogWriter::Piece LogWriter::NextPieceLocked(Lsn position, Lsn stop) {
  ROWAN_DCHECK(position == LogBlockStart(position));
  const uint64_t padded = LogBlockEnd(stop) - position;
  if (padded <= staging_.size()) {
    const MutableBytes target = staging_.span().first(padded);
    const size_t used = stop - position;
    // A block that small commits fill is written by each: what it had before is here already.
    const size_t kept = position == staged_ ? std::min(staged_bytes_, used) : 0;
    buffer_->CopyOut(position + kept, target.subspan(kept, used - kept));
    if (used < staged_bytes_) std::memset(staging_.data() + used, 0, staged_bytes_ - used);
    staged_ = position;
    staged_bytes_ = used;
    return {target, stop};
  }
  // Full blocks need no padding and are no longer appended to.
  const Bytes bytes = buffer_->Contiguous(position, LogBlockStart(stop));
  return {bytes, position + bytes.size()};
}

Result<std::shared_ptr<File>> LogWriter::OpenLogFile(uint64_t number, FileOptions options) {
  options.spare = true;
  ShortageWait wait("Opening a redo log file");
  for (;;) {
    Result<std::shared_ptr<File>> opened = OpenOrShortage(files_, number, options);
    if (opened.ok() || !IsResourceShortage(opened.status())) return opened;
    if (!wait.Again(static_cast<int>(opened.status().detail()))) return opened;
  }
}

Result<const LogWriter::Handle*> LogWriter::HandleLocked(Lsn position, Via via) {
  const bool special = via == Via::kStrategy && strategy_->kind() == SyncStrategy::Kind::kThrough;
  Handle& handle = special ? through_ : plain_;
  if (handle.file != nullptr && handle.place.Holds(position)) return &handle;
  Handle& next = special ? next_through_ : next_plain_;
  if (next.file != nullptr && next.place.Holds(position)) {
    handle = std::exchange(next, {});
    return &handle;
  }
  Result<LogFilePlace> place = files_->Require(position);
  if (!place.ok()) return place.status();
  Result<std::shared_ptr<File>> opened =
      OpenLogFile(place->number, special ? strategy_->open_options() : FileOptions{});
  if (!opened.ok()) return opened.status();
  handle = {*place, std::move(opened).value()};
  return &handle;
}

Status LogWriter::OpenAhead() {
  LogFilePlace place;
  bool through;
  FileOptions options{};
  {
    const MutexLock lock(&mutex_);
    const Lsn end = files_->PlaceOf(written_.load(std::memory_order_relaxed)).end;
    place = files_->PlaceOf(end);
    through = strategy_->kind() == SyncStrategy::Kind::kThrough;
    options = strategy_->open_options();
    const Handle& next = through ? next_through_ : next_plain_;
    if (next.file != nullptr && next.place.number >= place.number) return Status::Ok();
  }
  if (place.bytes() == 0) return Status::Ok();  // not ready
  // One try each: the next tick comes soon, the leader only later.
  Result<std::shared_ptr<File>> plain = files_->Open(place.number, {.spare = true});
  if (!plain.ok()) return plain.status();
  Result<std::shared_ptr<File>> special = plain;
  options.spare = true;
  if (through) special = files_->Open(place.number, options);
  if (!special.ok()) return special.status();
  const MutexLock lock(&mutex_);
  next_plain_ = {place, std::move(plain).value()};
  // If the strategy has changed in the meantime its flags may differ.
  const bool same = through && strategy_->kind() == SyncStrategy::Kind::kThrough &&
                    strategy_->open_options().direct == options.direct;
  if (same) next_through_ = {place, std::move(special).value()};
  return Status::Ok();
}

Status LogWriter::SwitchStrategy(std::unique_ptr<SyncStrategy> strategy) {
  const MutexLock lock(&mutex_);
  if (strategy->kind() == SyncStrategy::Kind::kThrough) {
    // Shows whether the file system takes the flags, before anything depends on it.
    Result<LogFilePlace> place = files_->Require(durable_);
    if (!place.ok()) return place.status();
    Result<std::shared_ptr<File>> opened = files_->Open(place->number, strategy->open_options());
    if (!opened.ok()) return opened.status();
    through_ = {*place, std::move(opened).value()};
  } else {
    through_ = {};
  }
  next_through_ = {};  // opened with the old flags
  strategy_ = std::move(strategy);
  method_.store(strategy_->method(), std::memory_order_release);
  return Status::Ok();
}

}  // namespace rowan
