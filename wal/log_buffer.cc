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

/// Looks before the processor is given away: a group of usual size is copied meanwhile.
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
      content_end_(start.value()),
      mark_end_(start.value()) {
  ROWAN_CHECK(std::has_single_bit(size_bytes));
  ROWAN_CHECK(size_bytes > kLogBlockBytes);
}

Lsn LogBuffer::TryAppend(GroupBuilder* group, const std::atomic<uint64_t>& durable) {
  const Bytes bytes = group->bytes();
  Slot* slot = TakeSlot();
  uint64_t start = tail_.load(std::memory_order_relaxed);
  uint64_t mark = 0;
  do {
    // Acquire: the ring's bytes below it were read for writing before it was published.
    mark = durable.load(std::memory_order_acquire);
    if ((start & kClosed) != 0 || start + bytes.size() > EndOfRoom(mark)) {
      slot->position.store(kIdle, std::memory_order_release);
      return kNoLsn;
    }
    // seq_cst: invariant 2, the slot is announced before the place is taken.
  } while (!tail_.compare_exchange_weak(start, start + bytes.size(), std::memory_order_seq_cst,
                                        std::memory_order_relaxed));
  const uint64_t end = start + bytes.size();
  group->Seal(Lsn(start), epoch_, Lsn(mark));
  CopyIn(start, bytes);
  if (group->empty()) mark_end_.store(end, std::memory_order_relaxed);
  slot->position.store(kIdle, std::memory_order_release);
  return Lsn(end);
}

LogBuffer::Slot* LogBuffer::TakeSlot() {
  for (uint32_t look = 0;; ++look) {
    Slot* slot = &slots_[(ThreadShard() + look) % kSlots];
    uint64_t idle = kIdle;
    const uint64_t position = tail_.load(std::memory_order_relaxed) & ~kClosed;
    if (slot->position.compare_exchange_strong(idle, position, std::memory_order_seq_cst,
                                               std::memory_order_relaxed)) {
      return slot;
    }
    if (look >= kSlots) std::this_thread::yield();
  }
}

Lsn LogBuffer::AwaitContent() {
  const uint64_t wanted = std::min(tail_.load(std::memory_order_seq_cst) & ~kClosed,
                                   content_limit_.load(std::memory_order_acquire));
  for (int look = 0;; ++look) {
    const uint64_t end = SeenContentEnd();
    if (end >= std::min(wanted, content_limit_.load(std::memory_order_acquire))) return Lsn(end);
    PauseOrYield(look);
  }
}

uint64_t LogBuffer::SeenContentEnd() {
  uint64_t end = tail_.load(std::memory_order_seq_cst) & ~kClosed;
  for (const Slot& slot : slots_) {
    end = std::min(end, slot.position.load(std::memory_order_seq_cst));
  }
  end = std::min(end, content_limit_.load(std::memory_order_acquire));
  RaiseTo(&content_end_, end);
  return content_end_.load(std::memory_order_acquire);
}

Lsn LogBuffer::Skip(uint64_t size_bytes) {
  uint64_t before = tail_.load(std::memory_order_relaxed);
  uint64_t after = 0;
  do {
    // The limit may end up before the last group: the log has stopped, nobody is promised anything.
    if ((before & kClosed) == 0) content_limit_.store(before, std::memory_order_release);
    after = ((before & ~kClosed) + size_bytes) | kClosed;
  } while (!tail_.compare_exchange_weak(before, after, std::memory_order_acq_rel,
                                        std::memory_order_relaxed));
  return Lsn(after & ~kClosed);
}

void LogBuffer::CopyIn(uint64_t position, Bytes bytes) {
  const size_t offset = position & mask_;
  const size_t first = std::min(bytes.size(), ring_.size() - offset);
  std::memcpy(ring_.data() + offset, bytes.data(), first);
  if (first < bytes.size()) {
    std::memcpy(ring_.data(), bytes.data() + first, bytes.size() - first);
  }
}

void LogBuffer::CopyOut(uint64_t position, MutableBytes target) const {
  const size_t offset = position & mask_;
  const size_t first = std::min(target.size(), ring_.size() - offset);
  std::memcpy(target.data(), ring_.data() + offset, first);
  if (first < target.size()) {
    std::memcpy(target.data() + first, ring_.data(), target.size() - first);
  }
}

Bytes LogBuffer::Contiguous(uint64_t position, uint64_t end) const {
  const size_t offset = position & mask_;
  return {ring_.data() + offset, std::min<uint64_t>(end - position, ring_.size() - offset)};
}

}  // namespace rowan
