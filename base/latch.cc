// SPDX-License-Identifier: GPL-2.0-only
#include "base/latch.h"

#include <thread>

#include "base/assertions.h"
#include "base/counters.h"
#include "base/parking_lot.h"

namespace rowan {
namespace {

/// About a microsecond of pauses: longer than the usual hold, shorter than two context switches.
constexpr int kSpinRounds = 32;

inline void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

bool Changed(const std::atomic<uint64_t>* tag, uint64_t expected) {
  return tag != nullptr && tag->load(std::memory_order_acquire) != expected;
}

}  // namespace

bool Latch::LockSharedSlow(const std::atomic<uint64_t>* tag, uint64_t expected) {
  for (;;) {
    for (int round = 0; round < kSpinRounds; ++round) {
      Pause();
      if (TryLockShared()) return true;
      if (Changed(tag, expected)) return GiveUp();
    }
    uint64_t word = word_.load(std::memory_order_relaxed);
    if ((word & (kWriter | kTurn)) == 0) {
      // Free again, or the count of shared holders is full: that many threads resolve it soon.
      std::this_thread::yield();
      continue;
    }
    if (!word_.compare_exchange_weak(word, word | kWaiters, std::memory_order_relaxed)) continue;
    const bool slept = Park(this, ParkKind::kShared, [this, tag, expected] {
      // Acquire: a word written after the tag was changed makes that change visible.
      const uint64_t now = word_.load(std::memory_order_acquire);
      return (now & kWaiters) != 0 && (now & (kWriter | kTurn)) != 0 && !Changed(tag, expected);
    });
    if (slept) AddCounter(Counter::kLatchParks);
  }
}

bool Latch::LockExclusiveSlow(const std::atomic<uint64_t>* tag, uint64_t expected) {
  Spin spin = SpinForExclusive(tag, expected);
  if (spin == Spin::kIn) return true;
  if (spin == Spin::kTagChanged) return GiveUp();
  for (;;) {
    // Again in each round: a release in the meantime has ended the turn. While a writer is inside
    // it would be of no use.
    uint64_t word = word_.load(std::memory_order_relaxed);
    if ((word & kWriter) == 0 && (word & kSharedMask) != 0 &&
        !word_.compare_exchange_weak(word, word | kTurn, std::memory_order_relaxed)) {
      continue;
    }
    spin = SpinForExclusive(tag, expected);
    if (spin != Spin::kBlocked) {
      word_.fetch_and(~kTurn, std::memory_order_relaxed);
      return spin == Spin::kIn || GiveUp();
    }
    word = word_.load(std::memory_order_relaxed);
    if ((word & (kWriter | kSharedMask)) == 0) continue;
    if (!word_.compare_exchange_weak(word, word | kWaiters, std::memory_order_relaxed)) continue;
    const bool slept = Park(this, ParkKind::kExclusive, [this, tag, expected] {
      const uint64_t now = word_.load(std::memory_order_acquire);
      // While readers are inside only with the turn: without it they need never leave a gap.
      const bool blocked = (now & kWriter) != 0 || ((now & kSharedMask) != 0 && (now & kTurn) != 0);
      return (now & kWaiters) != 0 && blocked && !Changed(tag, expected);
    });
    if (slept) AddCounter(Counter::kLatchParks);
  }
}

Latch::Spin Latch::SpinForExclusive(const std::atomic<uint64_t>* tag, uint64_t expected) {
  for (int round = 0; round < kSpinRounds; ++round) {
    Pause();
    if (TryLockExclusive()) return Spin::kIn;
    if (Changed(tag, expected)) return Spin::kTagChanged;
  }
  return Spin::kBlocked;
}

bool Latch::GiveUp() {
  // A release wakes one exclusive waiter and counts on its release to wake the next. This one may
  // have been woken and leaves without a release, so it passes the wake-up on.
  if ((word_.load(std::memory_order_acquire) & kWaiters) != 0) WakeWaiters(Unpark::kBoth);
  return false;
}

void Latch::DowngradeToShared() {
  uint64_t word = word_.load(std::memory_order_relaxed);
  ROWAN_DCHECK((word & kWriter) != 0);
  uint64_t next;
  do {
    next = (word & kWaiters) | kSharedOne | ((word + 1) & kVersionMask);
  } while (!word_.compare_exchange_weak(word, next, std::memory_order_release,
                                        std::memory_order_relaxed));
  if ((word & kWaiters) != 0) WakeWaiters(Unpark::kBoth);
}

void Latch::WakeWaiters(Unpark selection) {
  // Under the bucket mutex the waiters bit becomes exactly "a thread stays parked". Those woken try
  // again: one gets in, and its release sees the bit and wakes the next.
  UnparkSelected(this, selection, [this](bool others_remain) {
    if (!others_remain) word_.fetch_and(~kWaiters, std::memory_order_relaxed);
  });
}

}  // namespace rowan
