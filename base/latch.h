// SPDX-License-Identifier: GPL-2.0-only
// Latch: an 8-byte hybrid latch with shared, exclusive and optimistic modes.
//
// Word layout (bit 0 = least significant):
//   bits 0..47  version, bumped by every exclusive release that may have changed the data
//   bits 48..60 count of shared holders (0..8191)
//   bit  61     turn: a writer that found no gap between readers waits for its turn
//   bit  62     waiters: a thread is parked on this word in the parking lot
//   bit  63     writer: held exclusively
//
// A waiter sets bit 62 when it finds itself blocked; it stays set while any thread is parked, so
// the release that unblocks it always sees the bit.
// A writer sets bit 61 after it spun in vain while readers were inside, and clears it when it
// enters or gives up; any exclusive release clears it too, which gives readers their chance. While
// it is set no reader enters, so overlapping readers cannot starve a writer. So a shared
// acquisition may wait for a writer that waits for shared holders: the latch order binds shared
// holders among themselves, too.
//
// Modes: optimistic readers remember the version, read, and validate that no writer entered or
// left; they write to no shared memory. Shared and exclusive acquire spin for about a microsecond,
// then park (base/parking_lot.h), because threads outnumber cores. Not recursive. Writers are not
// served in order, but every release that could admit a parked waiter wakes it.
// A latch must outlive every release: an unlocking thread may still touch the word to wake others.
// Thread safety: all members may be called from any thread; Unlock* only by a holder.
//
// Latch itself has no rank: use it through RankedLatch, or through the latch of a page
// (buffer/page_latch.h).
#pragma once

#include <atomic>
#include <cstdint>

#include "base/latch_rank.h"
#include "base/parking_lot.h"
#include "base/thread_annotations.h"

namespace rowan {

class Latch {
 public:
  using Version = uint64_t;

  Latch() = default;
  Latch(const Latch&) = delete;
  Latch& operator=(const Latch&) = delete;

  [[nodiscard]] bool TryLockShared() {
    uint64_t word = word_.load(std::memory_order_relaxed);
    while ((word & (kWriter | kTurn)) == 0 && (word & kSharedMask) != kSharedMask) {
      if (word_.compare_exchange_weak(word, word + kSharedOne, std::memory_order_acquire,
                                      std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }

  [[nodiscard]] bool TryLockExclusive() {
    uint64_t word = word_.load(std::memory_order_relaxed);
    while ((word & (kWriter | kSharedMask)) == 0) {
      if (word_.compare_exchange_weak(word, word | kWriter, std::memory_order_acquire,
                                      std::memory_order_relaxed)) {
        WriterEntered();
        return true;
      }
    }
    return false;
  }

  void LockShared() {
    if (!TryLockShared()) (void)LockSharedSlow(nullptr, 0);
  }
  void LockExclusive() {
    if (!TryLockExclusive()) (void)LockExclusiveSlow(nullptr, 0);
  }

  /// As LockShared and LockExclusive, but gives up and returns false when `tag` is no longer
  /// `expected` while waiting: for latches whose guarded object can be replaced by one that the
  /// caller must not wait for. The tag is changed by the exclusive holder, which then releases the
  /// latch (and may take it again): no thread sleeps on a changed tag.
  /// A free latch is taken without looking at the tag; the caller checks it anyway.
  [[nodiscard]] bool LockSharedWhile(const std::atomic<uint64_t>& tag, uint64_t expected) {
    return TryLockShared() || LockSharedSlow(&tag, expected);
  }
  [[nodiscard]] bool LockExclusiveWhile(const std::atomic<uint64_t>& tag, uint64_t expected) {
    return TryLockExclusive() || LockExclusiveSlow(&tag, expected);
  }

  void UnlockShared() {
    const uint64_t before = word_.fetch_sub(kSharedOne, std::memory_order_release);
    if ((before & kWaiters) != 0 && (before & kSharedMask) == kSharedOne) {
      WakeWaiters((before & kTurn) != 0 ? Unpark::kOneExclusive : Unpark::kBoth);
    }
  }

  /// Releases and bumps the version: optimistic readers that overlapped will fail to validate.
  void UnlockExclusive() {
    // Only the holder changes version bits and no shared holder exists, but the waiters bit may
    // be set concurrently, hence the exchange loop.
    uint64_t word = word_.load(std::memory_order_relaxed);
    uint64_t next;
    do {
      next = (word & kWaiters) | ((word + 1) & kVersionMask);
    } while (!word_.compare_exchange_weak(word, next, std::memory_order_release,
                                          std::memory_order_relaxed));
    if ((word & kWaiters) != 0) WakeWaiters(Unpark::kBoth);
  }

  /// Turns the caller's exclusive hold into a shared one, bumping the version. Other readers come
  /// in until a waiting writer asks for its turn.
  void DowngradeToShared();

  /// If the latch is at `version` with no holder at all, takes it exclusively.
  [[nodiscard]] bool TryUpgradeFromOptimistic(Version version) {
    uint64_t word = word_.load(std::memory_order_relaxed);
    while ((word & (kWriter | kSharedMask)) == 0 && (word & kVersionMask) == version) {
      if (word_.compare_exchange_weak(word, word | kWriter, std::memory_order_acquire,
                                      std::memory_order_relaxed)) {
        WriterEntered();
        return true;
      }
    }
    return false;
  }

  /// If no writer is inside or has its turn, and the version is still `version`, takes it shared.
  [[nodiscard]] bool TryShareFromOptimistic(Version version) {
    uint64_t word = word_.load(std::memory_order_relaxed);
    while ((word & (kWriter | kTurn)) == 0 && (word & kVersionMask) == version &&
           (word & kSharedMask) != kSharedMask) {
      if (word_.compare_exchange_weak(word, word + kSharedOne, std::memory_order_acquire,
                                      std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }

  /// Begins an optimistic read: false while a writer is inside.
  [[nodiscard]] bool TryOptimistic(Version* version) const {
    const uint64_t word = word_.load(std::memory_order_acquire);
    *version = word & kVersionMask;
    return (word & kWriter) == 0;
  }

  /// True if nothing was written since TryOptimistic returned `version`. If so, everything read
  /// before this call is consistent; if not, it must be discarded.
  [[nodiscard]] bool Validate(Version version) const {
#if defined(__SANITIZE_THREAD__)
    // ThreadSanitizer does not understand fences; it does understand a read-modify-write, which
    // gives the same order.
    const uint64_t word = word_.fetch_add(0, std::memory_order_acq_rel);
#else
    std::atomic_thread_fence(std::memory_order_acquire);
    const uint64_t word = word_.load(std::memory_order_relaxed);
#endif
    return (word & kWriter) == 0 && (word & kVersionMask) == version;
  }

  [[nodiscard]] bool IsLockedExclusive() const {
    return (word_.load(std::memory_order_relaxed) & kWriter) != 0;
  }
  /// The current version, no matter which thread holds the latch; meaningful to holders.
  [[nodiscard]] Version version() const {
    return word_.load(std::memory_order_relaxed) & kVersionMask;
  }
  /// The version as the exclusive holder, who calls this, will leave it.
  [[nodiscard]] Version VersionOnceUnlocked() const { return (version() + 1) & kVersionMask; }

 private:
  static constexpr uint64_t kVersionMask = (uint64_t{1} << 48) - 1;
  static constexpr uint64_t kSharedOne = uint64_t{1} << 48;
  static constexpr uint64_t kSharedMask = uint64_t{0x1FFF} << 48;
  static constexpr uint64_t kTurn = uint64_t{1} << 61;
  static constexpr uint64_t kWaiters = uint64_t{1} << 62;
  static constexpr uint64_t kWriter = uint64_t{1} << 63;

  /// Wait, then take the latch. With a `tag`: false when it changed; without one, always true.
  bool LockSharedSlow(const std::atomic<uint64_t>* tag, uint64_t expected);
  bool LockExclusiveSlow(const std::atomic<uint64_t>* tag, uint64_t expected);
  /// Spins for a gap. kIn, kTagChanged, or kBlocked.
  enum class Spin : uint8_t { kIn, kTagChanged, kBlocked };
  Spin SpinForExclusive(const std::atomic<uint64_t>* tag, uint64_t expected);
  bool GiveUp();
  void WakeWaiters(Unpark selection);

  /// Keeps the writer's data stores after the store of the writer bit, which acquire alone does
  /// not; pairs with the acquire fence in Validate. No instruction on x86.
  static void WriterEntered() {
#if !defined(__SANITIZE_THREAD__)
    std::atomic_thread_fence(std::memory_order_release);
#endif
  }

  mutable std::atomic<uint64_t> word_{0};  // mutable for Validate under ThreadSanitizer
};
static_assert(sizeof(Latch) == 8);

/// A latch with a rank in the order of acquisition. Thread safety: as Latch.
template <LatchRank kRank>
class ROWAN_CAPABILITY("latch") RankedLatch {
 public:
  void LockShared() ROWAN_ACQUIRE_SHARED() {
    NoteLatchWanted(kRank);
    latch_.LockShared();
    NoteLatchTaken(kRank);
  }
  void UnlockShared() ROWAN_RELEASE_SHARED() {
    NoteLatchReleased(kRank);
    latch_.UnlockShared();
  }
  void LockExclusive() ROWAN_ACQUIRE() {
    NoteLatchWanted(kRank);
    latch_.LockExclusive();
    NoteLatchTaken(kRank);
  }
  [[nodiscard]] bool TryLockExclusive() ROWAN_TRY_ACQUIRE(true) {
    if (!latch_.TryLockExclusive()) return false;
    NoteLatchTaken(kRank);
    return true;
  }
  void UnlockExclusive() ROWAN_RELEASE() {
    NoteLatchReleased(kRank);
    latch_.UnlockExclusive();
  }
  void AssertHeld() const ROWAN_ASSERT_CAPABILITY(this) { CheckLatchHeld(kRank); }

 private:
  Latch latch_;
};

/// Hold a latch for their lifetime.
template <LatchRank kRank>
class ROWAN_SCOPED_CAPABILITY SharedLatchGuard {
 public:
  explicit SharedLatchGuard(RankedLatch<kRank>* latch) ROWAN_ACQUIRE_SHARED(latch) : latch_(latch) {
    latch_->LockShared();
  }
  ~SharedLatchGuard() ROWAN_RELEASE() { latch_->UnlockShared(); }
  SharedLatchGuard(const SharedLatchGuard&) = delete;
  SharedLatchGuard& operator=(const SharedLatchGuard&) = delete;

 private:
  RankedLatch<kRank>* const latch_;
};

template <LatchRank kRank>
class ROWAN_SCOPED_CAPABILITY ExclusiveLatchGuard {
 public:
  explicit ExclusiveLatchGuard(RankedLatch<kRank>* latch) ROWAN_ACQUIRE(latch) : latch_(latch) {
    latch_->LockExclusive();
  }
  ~ExclusiveLatchGuard() ROWAN_RELEASE() { latch_->UnlockExclusive(); }
  ExclusiveLatchGuard(const ExclusiveLatchGuard&) = delete;
  ExclusiveLatchGuard& operator=(const ExclusiveLatchGuard&) = delete;

 private:
  RankedLatch<kRank>* const latch_;
};

}  // namespace rowan
