// SPDX-License-Identifier: GPL-2.0-only
#include "wal/log_impl.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/assertions.h"
#include "base/atomic_max.h"
#include "base/clock.h"
#include "base/counters.h"
#include "base/logging.h"
#include "io/resource_shortage.h"

namespace rowan {
namespace {

/// Bounds what Durability::kBackground may lose.
constexpr auto kFlushTick = std::chrono::milliseconds(1000);
/// A tick is never early by more than this.
constexpr uint64_t kFlushNanos = uint64_t{900} * 1000 * 1000;
/// Also how often a full disk is asked again.
constexpr auto kFilesTick = std::chrono::milliseconds(1000);
/// Files are kept ready this far ahead, two of them at least.
constexpr uint64_t kAheadBytesMin = uint64_t{1} << 20;
constexpr uint64_t kAheadFiles = 2;
/// How often one who waits with a limit is asked whether it still wants to.
constexpr uint64_t kAskNanos = uint64_t{100} * 1000 * 1000;

}  // namespace

Log::Impl::Impl(std::unique_ptr<LogFileSet> file_set, Setup setup, std::function<void()> on_stop_in)
    : on_stop(std::move(on_stop_in)),
      files(std::move(file_set)),
      buffer(setup.buffer_bytes, setup.end, setup.epoch),
      queue(setup.end, [this] { flush_thread.Wake(); }),
      writer(files.get(), &buffer, setup.end, std::move(setup.strategy)),
      pressure(&buffer, &queue, files.get(),
               {.make_durable = [this] { return WaitDurable(buffer.tail()); },
                .prepare_files =
                    [this](uint64_t end) {
                      RaiseTo(&files_wanted_end, end);
                      files_thread.Wake();
                    }}),
      flush_thread("log-flush", kFlushTick, [this] { return Flush(); }),
      files_thread("log-files", kFilesTick, [this] { return KeepFilesReady(); }) {
  pressure.Start(setup.checkpoint, setup.capacity_bytes);
  tail_file_end.store(files->PlaceOf(setup.end.value()).end, std::memory_order_relaxed);
}

Log::Impl::~Impl() { StopThreads(); }

void Log::Impl::Start() {
  flush_thread.Start();
  files_thread.Start();
}

void Log::Impl::StopThreads() {
  queue.Stop();
  pressure.Stop();
  flush_thread.Stop();
  files_thread.Stop();
}

void Log::Impl::Fail(const char* what, Status status) {
  if (stopped.exchange(true, std::memory_order_acq_rel)) return;
  LogError("The redo log stops at LSN {}: {}: {}", queue.durable().value(), what, status.message());
  queue.Stop();
  pressure.Stop();
  durable_signal.Raise();
  if (on_stop) on_stop();
}

Status Log::Impl::WaitDurable(Lsn lsn) {
  if (stopped.load(std::memory_order_acquire)) return Status(Code::kStopped);
  if (queue.durable() >= lsn) return Status::Ok();
  ROWAN_CHECK(lsn <= buffer.tail());
  switch (queue.Wait(lsn)) {
    case CommitQueue::Outcome::kDone: return Status::Ok();
    case CommitQueue::Outcome::kStopped: return Status(Code::kStopped);
    case CommitQueue::Outcome::kLead: break;
  }
  const bool again = LeadRound(CommitQueue::Leader::kSession);
  ROWAN_CHECK(!again);
  return queue.durable() >= lsn ? Status::Ok() : Status(Code::kStopped);
}

Status Log::Impl::WaitDurableFor(Lsn lsn, uint64_t limit_nanos, FunctionRef<bool()> interrupted) {
  const auto finished = [&] {
    return queue.durable() >= lsn || stopped.load(std::memory_order_acquire);
  };
  const uint64_t begin_nanos = MonotonicNanos();
  while (!finished()) {
    if (interrupted()) return Status(Code::kInterrupted);
    const uint64_t waited = MonotonicNanos() - begin_nanos;
    if (waited >= limit_nanos) return Status(Code::kLockTimeout, "the log is not durable so far");
    RaiseTo(&flush_wanted, std::min(lsn, buffer.tail()).value());
    flush_thread.Wake();
    durable_signal.WaitFor(std::chrono::nanoseconds(std::min(limit_nanos - waited, kAskNanos)),
                           finished);
  }
  return queue.durable() >= lsn ? Status::Ok() : Status(Code::kStopped);
}

bool Log::Impl::LeadRound(CommitQueue::Leader leader) {
  // Whoever stops the log wakes all who wait for this leader.
  if (stopped.load(std::memory_order_acquire)) return false;
  const Result<Lsn> durable = writer.MakeDurable();
  if (!durable.ok()) {
    Fail("a write or sync failed", durable.status());
    return false;
  }
  // Before the lead goes on: later leaders and a checkpoint may let go the file of this position.
  const uint64_t position = durable.value().value();
  if (position >= tail_file_end.load(std::memory_order_relaxed)) {
    tail_file_end.store(files->PlaceOf(position).end, std::memory_order_relaxed);
    files_thread.Wake();
  }
  const bool again = queue.HandOn(durable.value(), leader);
  durable_signal.Raise();
  pressure.RoomFreed();
  return again;
}

ThreadLoop::Next Log::Impl::Flush() {
  bool lead = queue.TakeHanded();
  if (!lead && WantsFlush()) {
    lead = queue.FlusherLead();
    flushed_at_nanos = MonotonicNanos();
  }
  if (!lead && AppendMark()) lead = queue.FlusherLead();
  while (lead) lead = LeadRound(CommitQueue::Leader::kFlusher);
  return ThreadLoop::Next::kWait;
}

bool Log::Impl::WantsFlush() {
  if (stopped.load(std::memory_order_acquire)) return false;
  if (queue.durable() >= buffer.tail()) return false;
  if (flush_wanted.load(std::memory_order_relaxed) > queue.durable().value()) return true;
  return pressure.RingIsHalfFull() || MonotonicNanos() - flushed_at_nanos >= kFlushNanos;
}

bool Log::Impl::AppendMark() {
  // The marks in the groups of the last sync are older than that sync. Once the log has been idle
  // for a tick, an empty group says that all of it is durable, so that damage to it is recognised.
  const uint64_t now_nanos = MonotonicNanos();
  if (now_nanos - mark_considered_nanos < kFlushNanos) return false;
  mark_considered_nanos = now_nanos;
  const Lsn tail = buffer.tail();
  const bool idle = tail == std::exchange(mark_candidate, tail) && queue.durable() == tail;
  if (!idle || buffer.EndsWithMark() || stopped.load(std::memory_order_acquire)) return false;
  const MutexLock lock(&mark_mutex);
  constexpr uint32_t kBytes = kGroupHeaderBytes;
  if (closing || !pressure.TryReserve(kBytes)) return false;
  mark.Clear();
  mark.Finish();
  const bool appended = buffer.TryAppend(&mark, queue.durable_word()) != kNoLsn;
  pressure.Release(kBytes);
  return appended;
}

Lsn Log::Impl::SafeLsn() const {
  // The byte before the checkpoint stays: LogReader needs its file even when it ends there.
  return Lsn(std::min(pressure.checkpoint(), queue.durable()).value() - 1);
}

ThreadLoop::Next Log::Impl::KeepFilesReady() {
  if (stopped.load(std::memory_order_acquire)) return ThreadLoop::Next::kWait;
  const uint64_t ahead = std::max(kAheadBytesMin, kAheadFiles * files->NextFileBytes());
  const LogFileSet::Aim aim{
      .safe = SafeLsn(),
      .tail = buffer.tail(),
      .wanted_end = std::max(buffer.tail().value() + ahead,
                             files_wanted_end.load(std::memory_order_relaxed))};
  const Result<bool> step = files->Step(aim);
  if (step.status().Is(Code::kNoSpace)) {
    // Readers of the log go before writers have to wait.
    if (files->holds().GiveUpBelow(aim.safe)) return ThreadLoop::Next::kAgain;
    if (!std::exchange(out_of_space, true)) {
      LogWarning("The disk is full: no new redo log file in '{}'; writers wait for old ones",
                 files->folder());
    }
    return ThreadLoop::Next::kWait;
  }
  if (IsResourceShortage(step.status())) {
    LogShortage("Preparing a redo log file", static_cast<int>(step.status().detail()));
    return ThreadLoop::Next::kWait;
  }
  if (!step.ok()) {
    Fail("a log file cannot be prepared", step.status());
    return ThreadLoop::Next::kWait;
  }
  out_of_space = false;
  pressure.RoomFreed();
  const Status opened = writer.OpenAhead();
  if (IsResourceShortage(opened)) {
    LogShortage("Opening a redo log file", static_cast<int>(opened.detail()));
  }
  return step.value() ? ThreadLoop::Next::kAgain : ThreadLoop::Next::kWait;
}

}  // namespace rowan
