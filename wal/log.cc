// SPDX-License-Identifier: GPL-2.0-only
#include "wal/log.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/assertions.h"
#include "base/clock.h"
#include "base/counter_batch.h"
#include "base/counters.h"
#include "base/logging.h"
#include "base/out_of_memory.h"
#include "wal/log_opening.h"
#include "wal/sync_probe.h"
#include "wal/sync_strategy.h"

namespace rowan {
namespace {

/// How often a waiter with a limit is asked whether it goes on waiting.
constexpr uint64_t kAskNanos = uint64_t{100} * 1000 * 1000;

}  // namespace

Log::Log(LogOpening opening)
    : files_(std::move(opening.files)),
      buffer_(opening.buffer_bytes, opening.end, opening.epoch),
      queue_(opening.end, [this] { flusher_.Wake(); }),
      writer_(files_.get(), &buffer_, opening.end, std::move(opening.strategy)),
      space_(&buffer_, &queue_, files_.get(),
             {.make_durable = [this] { return WaitDurable(buffer_.tail()); },
              .prepare_files = [this](Lsn end) { preparer_.WantUpTo(end); }}),
      flusher_({.buffer = &buffer_, .queue = &queue_, .space = &space_, .stopped = &stopped_},
               [this] { return LeadRound(CommitQueue::Leader::kFlusher); }),
      preparer_({.files = files_.get(),
                 .buffer = &buffer_,
                 .queue = &queue_,
                 .writer = &writer_,
                 .space = &space_,
                 .stopped = &stopped_},
                [this](const char* what, Status status) { Fail(what, status); }) {
  space_.Start(opening.checkpoint, opening.capacity_bytes);
}

Result<std::unique_ptr<Log>> Log::Open(FileSystem* file_system, const LogOptions& options,
                                       ControlFile* control, Lsn end) {
  Result<LogOpening> opening = OpenLogFiles(file_system, options, control, end);
  if (!opening.ok()) return opening.status();
  const Lsn restored_end = opening->end;
  std::unique_ptr<Log> log(new Log(std::move(opening).value()));
  Status status = RestoreLastBlock(log->files_.get(), &log->buffer_, restored_end);
  if (!status.ok()) return status;
  status = log->Start();
  if (!status.ok()) return status;
  return log;
}

Log::~Log() { StopThreads(); }

Status Log::Start() {
  const Status status = flusher_.Start();
  if (!status.ok()) return status;
  return preparer_.Start();
}

void Log::StopThreads() {
  queue_.Stop();
  space_.Stop();
  flusher_.Stop();
  preparer_.Stop();
}

Status Log::Close() {
  flusher_.EndMarks();
  const Status status = WaitDurable(tail());
  stopped_.store(true, std::memory_order_release);
  StopThreads();
  return status;
}

void Log::Fail(const char* what, Status status) {
  if (stopped_.exchange(true, std::memory_order_acq_rel)) return;
  LogError("The redo log stops at LSN {}: {}: {}", durable().value(), what, status.message());
  queue_.Stop();
  space_.Stop();
  durable_signal_.Raise();
}

Status Log::ReserveOrWait(uint32_t bytes) {
  const Status status = space_.ReserveOrWait(bytes);
  if (space_.RingIsHalfFull()) flusher_.Wake();
  return status;
}

Lsn Log::Append(GroupBuilder* group) {
  const size_t size_bytes = group->size_bytes();
  ROWAN_CHECK(size_bytes <= buffer_.size_bytes() - kLogBlockBytes);
  ROWAN_DCHECK(size_bytes >= kGroupHeaderBytes);
  group->Finish();
  while (!stopped()) {
    const Lsn end = buffer_.TryAppend(group, queue_.durable_word());
    if (end != kNoLsn) {
      ROWAN_DCHECK(end <= tail() && end.value() >= size_bytes);
      CounterBatch counters;
      counters.Add(Counter::kLogGroups, 1);
      counters.Add(Counter::kLogBytes, size_bytes);
      return end;
    }
    // Only beyond a reservation. A failure shows as stopped().
    WaitDurable(tail()).Ignore();
  }
  return buffer_.Skip(size_bytes);
}

Status Log::WaitDurable(Lsn lsn) {
  if (stopped()) return Status(Code::kStopped);
  if (durable() >= lsn) return Status::Ok();
  ROWAN_CHECK(lsn <= tail());
  switch (queue_.Wait(lsn)) {
    case CommitQueue::Outcome::kDone: return Status::Ok();
    case CommitQueue::Outcome::kStopped: return Status(Code::kStopped);
    case CommitQueue::Outcome::kLead: break;
  }
  const bool again = LeadRound(CommitQueue::Leader::kSession);
  ROWAN_CHECK(!again);
  return durable() >= lsn ? Status::Ok() : Status(Code::kStopped);
}

bool Log::LeadRound(CommitQueue::Leader leader) {
  // The thread that stops the log wakes all that wait for this leader.
  if (stopped()) return false;
  // Queued threads wait for this leader: it must not leave without waking them.
  Result<Lsn> made_durable = OrOutOfMemory([this] { return writer_.MakeDurable(); });
  if (!made_durable.ok()) {
    Fail("a write or sync failed", made_durable.status());
    return false;
  }
  ROWAN_DCHECK(*made_durable >= durable() && *made_durable <= tail());
  preparer_.NoteDurable(*made_durable);
  const bool again = queue_.HandOn(*made_durable, leader);
  durable_signal_.Raise();
  space_.RoomFreed();
  return again;
}

Status Log::WaitDurableFor(Lsn lsn, uint64_t limit_nanos, FunctionRef<bool()> interrupted) {
  const auto finished = [&] { return durable() >= lsn || stopped(); };
  const uint64_t begin_nanos = MonotonicNanos();
  while (!finished()) {
    if (interrupted()) return Status(Code::kInterrupted);
    const uint64_t waited = MonotonicNanos() - begin_nanos;
    if (waited >= limit_nanos) return Status(Code::kLockTimeout, "the log is not durable so far");
    flusher_.WantDurable(std::min(lsn, tail()));
    durable_signal_.WaitFor(std::chrono::nanoseconds(std::min(limit_nanos - waited, kAskNanos)),
                            finished);
  }
  return durable() >= lsn ? Status::Ok() : Status(Code::kStopped);
}

Status Log::WaitWritten(Lsn lsn) {
  if (stopped()) return Status(Code::kStopped);
  ROWAN_CHECK(lsn <= tail());
  const Status status = OrOutOfMemory([&] { return writer_.WriteUpTo(lsn); });
  if (status.ok()) return status;
  Fail("write", status);
  return Status(Code::kStopped);
}

Status Log::WaitCommitted(Lsn lsn, Durability durability) {
  ROWAN_DCHECK(lsn <= tail());
  switch (durability) {
    case Durability::kDurable: AddCounter(Counter::kCommitWaits); return WaitDurable(lsn);
    case Durability::kWrite: return WaitWritten(lsn);
    case Durability::kBackground: break;
  }
  if (space_.RingIsHalfFull()) flusher_.Wake();
  return stopped() ? Status(Code::kStopped) : Status::Ok();
}

void Log::SetCheckpoint(Lsn lsn) {
  ROWAN_CHECK(lsn <= tail());
  space_.SetCheckpoint(lsn);
  if (lsn > files_->FirstEnd()) preparer_.Wake();
}

Status Log::SetCapacity(uint64_t capacity_bytes) {
  if (!kLogCapacityLimits.Allow(capacity_bytes)) {
    return Status(Code::kInvalidArgument, "redo log capacity is out of bounds");
  }
  files_->SetCapacity(capacity_bytes);
  space_.SetCapacity(capacity_bytes);
  preparer_.Wake();
  return Status::Ok();
}

Result<std::unique_ptr<LogHold>> Log::Hold(const std::string& name, Lsn from, uint64_t bytes_max) {
  ROWAN_CHECK(from <= tail());
  Result<LogHolds::Id> id = files_->Hold({.name = name, .lsn = from, .bytes_max = bytes_max});
  if (!id.ok()) return id.status();
  return std::unique_ptr<LogHold>(new LogHold(&files_->holds(), *id));
}

Status Log::SetSyncMethod(LogSyncMethod method) {
  if (stopped()) return Status(Code::kStopped);
  if (method == LogSyncMethod::kAuto) {
    method = ProbeSyncMethod(files_->file_system(), files_->folder());
  }
  std::string reason;
  Result<std::unique_ptr<SyncStrategy>> strategy =
      MakeSyncStrategy(files_->file_system(), method, &reason);
  if (!strategy.ok()) {
    LogWarning("Log sync method {} refused: {}", LogSyncMethodName(method), reason);
    return strategy.status();
  }
  if (queue_.WaitForLead() == CommitQueue::Outcome::kStopped) return Status(Code::kStopped);
  const Status status = writer_.SwitchStrategy(std::move(strategy).value());
  const bool again = queue_.HandOn(durable(), CommitQueue::Leader::kSession);
  ROWAN_CHECK(!again);
  if (status.ok()) {
    LogInfo("Log sync method is now {}", LogSyncMethodName(method));
    return status;
  }
  LogWarning("Log sync method {} refused: {}", LogSyncMethodName(method), status.message());
  return Status(Code::kUnsupported, status.message(), status.detail());
}

}  // namespace rowan
