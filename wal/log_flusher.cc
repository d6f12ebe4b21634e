// SPDX-License-Identifier: GPL-2.0-only
#include "wal/log_flusher.h"

#include <chrono>
#include <utility>

#include "base/atomic_max.h"
#include "base/clock.h"

namespace rowan {
namespace {

/// Bounds what Durability::kBackground may lose.
constexpr auto kFlushTick = std::chrono::milliseconds(1000);
/// A tick is never early by more than this.
constexpr uint64_t kTickNanosMin = uint64_t{900} * 1000 * 1000;

}  // namespace

LogFlusher::LogFlusher(Parts parts, std::function<bool()> lead)
    : parts_(parts),
      lead_(std::move(lead)),
      flushed_at_nanos_(MonotonicNanos()),
      thread_("log-flush", kFlushTick, [this] { return Flush(); }) {}

void LogFlusher::WantDurable(Lsn lsn) {
  RaiseTo(&wanted_, lsn);
  thread_.Wake();
}

void LogFlusher::EndMarks() {
  const MutexLock lock(&mark_mutex_);
  closing_ = true;
}

ThreadLoop::Next LogFlusher::Flush() {
  bool lead = parts_.queue->TakeHanded();
  if (!lead && WantsFlush()) {
    lead = parts_.queue->FlusherLead();
    flushed_at_nanos_ = MonotonicNanos();
  }
  if (!lead && AppendMark()) lead = parts_.queue->FlusherLead();
  while (lead) lead = lead_();
  return ThreadLoop::Next::kWait;
}

bool LogFlusher::WantsFlush() {
  if (parts_.stopped->load(std::memory_order_acquire)) return false;
  const Lsn durable = parts_.queue->durable();
  if (durable >= parts_.buffer->tail()) return false;
  if (wanted_.load(std::memory_order_relaxed) > durable) return true;
  return parts_.space->RingIsHalfFull() || MonotonicNanos() - flushed_at_nanos_ >= kTickNanosMin;
}

bool LogFlusher::AppendMark() {
  // The marks in the groups of the last sync are older than that sync. Once the log has been idle
  // for a tick, an empty group says that all of it is durable, so that damage to it is recognised.
  const uint64_t now_nanos = MonotonicNanos();
  if (now_nanos - mark_considered_nanos_ < kTickNanosMin) return false;
  mark_considered_nanos_ = now_nanos;
  const Lsn tail = parts_.buffer->tail();
  const bool idle = tail == std::exchange(mark_candidate_, tail) && parts_.queue->durable() == tail;
  if (!idle || parts_.buffer->EndsWithMark()) return false;
  if (parts_.stopped->load(std::memory_order_acquire)) return false;
  const MutexLock lock(&mark_mutex_);
  constexpr uint32_t kBytes = kGroupHeaderBytes;
  if (closing_ || !parts_.space->TryReserve(kBytes)) return false;
  mark_.Clear();
  mark_.Finish();
  const bool appended = parts_.buffer->TryAppend(&mark_, parts_.queue->durable_word()) != kNoLsn;
  parts_.space->Release(kBytes);
  return appended;
}

}  // namespace rowan
