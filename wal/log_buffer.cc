// SPDX-License-Identifier: GPL-2.0-only
#include "wal/log_buffer.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <thread>

#include "base/assertions.h"
#include "base/atomic_max.h"
#include "base/thread_shard.h"

namespace rowan {
namespace {

/// Checks before yielding the processor: enough time to copy a group of usual size.
constexpr int kLooksBeforeYield = 64;

void PauseOrYield(int look) {
  if (look >= kLooksBeforeYield) {
    std::this_thread::yield();
    return;
  }
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

}  // namespace

LogBuffer::LogBuffer(uint64_t size_bytes, Lsn start, uint32_t epoch)
    : ring_(size_bytes),
      mask_(size_bytes - 1),
      epoch_(epoch),
      tail_(start.value()),
      content_end_(start),
      mark_end_(start) {
  ROWAN_CHECK(std::has_single_bit(size_bytes));
  ROWAN_CHECK(size_bytes > kLogBlockBytes);
}

Lsn LogBuffer::TryAppend(GroupBuilder* group, const std::atomic<Lsn>& durable) {
  const Bytes bytes = group->bytes();
  ROWAN_DCHECK(bytes.size() <= size_bytes());
  Slot* slot = TakeSlot();
  uint64_t before = tail_.load(std::memory_order_relaxed);
  Lsn mark;
  do {
    // Acquire: the ring's bytes below it were read for writing before it was published.
    mark = durable.load(std::memory_order_acquire);
    if ((before & kClosed) != 0 || Lsn(before) + bytes.size() > EndOfRoom(mark)) {
      slot->position.store(kIdle, std::memory_order_release);
      return kNoLsn;
    }
    // seq_cst: invariant 2, the slot is announced before the place is taken.
  } while (!tail_.compare_exchange_weak(before, before + bytes.size(), std::memory_order_seq_cst,
                                        std::memory_order_relaxed));
  const Lsn start(before);
  const Lsn end = start + bytes.size();
  ROWAN_DCHECK(mark <= start && end > start);
  ROWAN_DCHECK(end - mark <= size_bytes());
  group->Seal(start, epoch_, mark);
  CopyIn(start, bytes);
  if (group->empty()) mark_end_.store(end, std::memory_order_relaxed);
  slot->position.store(kIdle, std::memory_order_release);
  return end;
}

LogBuffer::Slot* LogBuffer::TakeSlot() {
  for (uint32_t look = 0;; ++look) {
    const uint32_t number = (ThreadShard() + look) % kSlots;
    Slot* slot = &slots_[number];
    RaiseTo(&slots_used_, number + 1);
    Lsn idle = kIdle;
    const Lsn position(tail_.load(std::memory_order_relaxed) & ~kClosed);
    if (slot->position.compare_exchange_strong(idle, position, std::memory_order_seq_cst,
                                               std::memory_order_relaxed)) {
      return slot;
    }
    if (look >= kSlots) std::this_thread::yield();
  }
}

Lsn LogBuffer::AwaitContent() {
  const Lsn wanted = std::min(Lsn(tail_.load(std::memory_order_seq_cst) & ~kClosed),
                              content_limit_.load(std::memory_order_acquire));
  for (int look = 0;; ++look) {
    const Lsn end = SeenContentEnd();
    if (end >= std::min(wanted, content_limit_.load(std::memory_order_acquire))) return end;
    PauseOrYield(look);
  }
}

Lsn LogBuffer::SeenContentEnd() {
  Lsn end(tail_.load(std::memory_order_seq_cst) & ~kClosed);
  // Read after the tail: an appender whose place is below it has raised the number before.
  const uint32_t used = slots_used_.load(std::memory_order_seq_cst);
  for (uint32_t i = 0; i < used; ++i) {
    end = std::min(end, slots_[i].position.load(std::memory_order_seq_cst));
  }
  end = std::min(end, content_limit_.load(std::memory_order_acquire));
  RaiseTo(&content_end_, end);
  return content_end_.load(std::memory_order_acquire);
}

Lsn LogBuffer::Skip(uint64_t size_bytes) {
  uint64_t before = tail_.load(std::memory_order_relaxed);
  uint64_t after = 0;
  do {
    // The limit may end up before the last group: the log has stopped, no caller is promised
    // anything.
    if ((before & kClosed) == 0) content_limit_.store(Lsn(before), std::memory_order_release);
    after = ((before & ~kClosed) + size_bytes) | kClosed;
  } while (!tail_.compare_exchange_weak(before, after, std::memory_order_acq_rel,
                                        std::memory_order_relaxed));
  return Lsn(after & ~kClosed);
}

void LogBuffer::CopyIn(Lsn position, Bytes bytes) {
  ROWAN_DCHECK(bytes.size() <= ring_.size());
  const size_t offset = position.value() & mask_;
  const size_t first = std::min(bytes.size(), ring_.size() - offset);
  std::memcpy(ring_.data() + offset, bytes.data(), first);
  if (first < bytes.size()) {
    std::memcpy(ring_.data(), bytes.data() + first, bytes.size() - first);
  }
}

void LogBuffer::CopyOut(Lsn position, MutableBytes target) const {
  ROWAN_DCHECK(target.size() <= ring_.size());
  const size_t offset = position.value() & mask_;
  const size_t first = std::min(target.size(), ring_.size() - offset);
  std::memcpy(target.data(), ring_.data() + offset, first);
  if (first < target.size()) {
    std::memcpy(target.data() + first, ring_.data(), target.size() - first);
  }
}

Bytes LogBuffer::Contiguous(Lsn position, Lsn end) const {
  ROWAN_DCHECK(position <= end && end - position <= ring_.size());
  const size_t offset = position.value() & mask_;
  return {ring_.data() + offset, std::min<uint64_t>(end - position, ring_.size() - offset)};
}

}  // namespace rowan
