// SPDX-License-Identifier: GPL-2.0-only
#include "wal/log.h"

#include <algorithm>
#include <utility>

#include "base/assertions.h"
#include "base/counters.h"
#include "base/logging.h"
#include "wal/log_impl.h"
#include "wal/sync_probe.h"
#include "wal/sync_strategy.h"

namespace rowan {

Log::Log(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Log::~Log() = default;

Status Log::ReserveOrWait(uint32_t bytes) {
  const Status status = impl_->pressure.ReserveOrWait(bytes);
  if (impl_->pressure.RingIsHalfFull()) impl_->flush_thread.Wake();
  return status;
}

void Log::Release(uint32_t bytes) { impl_->pressure.Release(bytes); }

Lsn Log::Append(GroupBuilder* group) {
  const size_t size_bytes = group->size_bytes();
  ROWAN_CHECK(size_bytes <= impl_->buffer.size_bytes() - kLogBlockBytes);
  group->Finish();
  while (!stopped()) {
    const Lsn end = impl_->buffer.TryAppend(group, impl_->queue.durable_word());
    if (end != kNoLsn) {
      AddCounter(Counter::kLogGroups);
      AddCounter(Counter::kLogBytes, size_bytes);
      return end;
    }
    // Only beyond a reservation. A failure shows as stopped().
    impl_->WaitDurable(tail()).Ignore();
  }
  return impl_->buffer.Skip(size_bytes);
}

Lsn Log::tail() const { return impl_->buffer.tail(); }
Lsn Log::durable() const { return impl_->queue.durable(); }
Lsn Log::written() const { return impl_->writer.written(); }

Status Log::WaitDurable(Lsn lsn) { return impl_->WaitDurable(lsn); }

Status Log::WaitWritten(Lsn lsn) {
  if (stopped()) return Status(Code::kStopped);
  ROWAN_CHECK(lsn <= tail());
  const Status status = impl_->writer.WriteUpTo(lsn);
  if (status.ok()) return status;
  impl_->Fail("write", status);
  return Status(Code::kStopped);
}

Status Log::WaitCommitted(Lsn lsn, Durability durability) {
  switch (durability) {
    case Durability::kDurable: AddCounter(Counter::kCommitWaits); return WaitDurable(lsn);
    case Durability::kWrite: return WaitWritten(lsn);
    case Durability::kBackground: break;
  }
  if (impl_->pressure.RingIsHalfFull()) impl_->flush_thread.Wake();
  return stopped() ? Status(Code::kStopped) : Status::Ok();
}

Status Log::WaitDurableFor(Lsn lsn, uint64_t limit_nanos, FunctionRef<bool()> interrupted) {
  return impl_->WaitDurableFor(lsn, limit_nanos, interrupted);
}

void Log::SetCheckpoint(Lsn lsn) {
  ROWAN_CHECK(lsn <= tail());
  impl_->pressure.SetCheckpoint(lsn);
  if (lsn.value() > impl_->files->FirstEnd()) impl_->files_thread.Wake();
}

Lsn Log::checkpoint() const { return impl_->pressure.checkpoint(); }
uint64_t Log::capacity_bytes() const { return impl_->pressure.capacity_bytes(); }

Status Log::SetCapacity(uint64_t capacity_bytes) {
  if (!kLogCapacityLimits.Allow(capacity_bytes)) {
    return Status(Code::kInvalidArgument, "redo log capacity is out of bounds");
  }
  impl_->files->SetCapacity(capacity_bytes);
  impl_->pressure.SetCapacity(capacity_bytes);
  impl_->files_thread.Wake();
  return Status::Ok();
}

struct LogHold::Impl {
  Impl(LogHolds* all, LogHolds::Id one) : holds(all), id(one) {}
  LogHolds* const holds;
  const LogHolds::Id id;
};

LogHold::LogHold(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
LogHold::~LogHold() { impl_->holds->Remove(impl_->id); }
bool LogHold::Advance(Lsn lsn) { return impl_->holds->Advance(impl_->id, lsn); }
bool LogHold::lost() const { return impl_->holds->lost(impl_->id); }

Result<std::unique_ptr<LogHold>> Log::Hold(const std::string& name, Lsn from, uint64_t bytes_max) {
  ROWAN_CHECK(from <= tail());
  Result<LogHolds::Id> id = impl_->files->Hold({.name = name, .lsn = from, .bytes_max = bytes_max});
  if (!id.ok()) return id.status();
  auto impl = std::make_unique<LogHold::Impl>(&impl_->files->holds(), *id);
  return std::unique_ptr<LogHold>(new LogHold(std::move(impl)));
}

uint64_t Log::files() const { return impl_->files->files(); }

std::vector<LogHolds::Reader> Log::Readers() const { return impl_->files->holds().List(); }

void Log::SetPressureCallback(std::function<void()> callback) {
  impl_->pressure.SetPressureCallback(std::move(callback));
}

Status Log::SetSyncMethod(LogSyncMethod method) {
  if (stopped()) return Status(Code::kStopped);
  if (method == LogSyncMethod::kAuto) {
    method = ProbeSyncMethod(impl_->files->file_system(), impl_->files->folder());
  }
  std::string reason;
  Result<std::unique_ptr<SyncStrategy>> strategy =
      MakeSyncStrategy(impl_->files->file_system(), method, &reason);
  if (!strategy.ok()) {
    LogWarning("Log sync method {} refused: {}", LogSyncMethodName(method), reason);
    return strategy.status();
  }
  if (impl_->queue.WaitForLead() == CommitQueue::Outcome::kStopped) return Status(Code::kStopped);
  const Status status = impl_->writer.SwitchStrategy(std::move(strategy).value());
  const bool again = impl_->queue.HandOn(impl_->queue.durable(), CommitQueue::Leader::kSession);
  ROWAN_CHECK(!again);
  if (status.ok()) {
    LogInfo("Log sync method is now {}", LogSyncMethodName(method));
    return status;
  }
  LogWarning("Log sync method {} refused: {}", LogSyncMethodName(method), status.message());
  return Status(Code::kUnsupported, status.message(), status.detail());
}

LogSyncMethod Log::sync_method() const { return impl_->writer.method(); }

const LatencyHistogram& Log::Latency(LogSyncMethod method, LogPhase phase) const {
  return impl_->writer.latency().Of(method, phase);
}

void Log::NoteCommit(uint64_t nanos) { impl_->writer.NoteCommit(nanos); }

bool Log::stopped() const { return impl_->stopped.load(std::memory_order_acquire); }

void Log::Stop(const char* reason) { impl_->Fail(reason, Status(Code::kStopped)); }

Status Log::Close() {
  {
    const MutexLock lock(&impl_->mark_mutex);
    impl_->closing = true;
  }
  const Status status = WaitDurable(tail());
  impl_->stopped.store(true, std::memory_order_release);
  impl_->StopThreads();
  return status;
}

}  // namespace rowan
