// SPDX-License-Identifier: GPL-2.0-only
// PageLatch: the latch of a frame, a Latch (base/latch.h) at the rank of page latches. Its holder
// changes by moving guards and lists of frames, which Clang's thread-safety analysis cannot follow,
// so it has no annotations; the order is checked at run time like that of all others.
// Thread safety: as Latch.
#pragma once

#include "base/assertions.h"
#include "base/latch.h"

namespace rowan {

class PageLatch {
 public:
  using Version = Latch::Version;

  [[nodiscard]] bool TryLockShared() { return Noted(latch_.TryLockShared()); }
  [[nodiscard]] bool TryLockExclusive() { return Noted(latch_.TryLockExclusive()); }
  void LockShared() {
    NoteLatchWanted(LatchRank::kPage);
    latch_.LockShared();
    NoteLatchTaken(LatchRank::kPage);
  }
  void LockExclusive() {
    NoteLatchWanted(LatchRank::kPage);
    latch_.LockExclusive();
    NoteLatchTaken(LatchRank::kPage);
  }
  /// For a frame without a page. Another holder of the latch wants a page that was there before and
  /// releases it at once, so this wait is exempt from the order.
  void LockExclusiveUnused() {
    latch_.LockExclusive();
    NoteLatchTaken(LatchRank::kPage);
  }
  [[nodiscard]] bool LockSharedWhile(const std::atomic<uint64_t>& tag, uint64_t expected) {
    NoteLatchWanted(LatchRank::kPage);
    return Noted(latch_.LockSharedWhile(tag, expected));
  }
  [[nodiscard]] bool LockExclusiveWhile(const std::atomic<uint64_t>& tag, uint64_t expected) {
    NoteLatchWanted(LatchRank::kPage);
    return Noted(latch_.LockExclusiveWhile(tag, expected));
  }
  void UnlockShared() {
    NoteLatchReleased(LatchRank::kPage);
    latch_.UnlockShared();
  }
  void UnlockExclusive() {
    ROWAN_DCHECK(IsLockedExclusive());
    NoteLatchReleased(LatchRank::kPage);
    latch_.UnlockExclusive();
  }
  void DowngradeToShared() {
    ROWAN_DCHECK(IsLockedExclusive());
    latch_.DowngradeToShared();
  }
  [[nodiscard]] bool TryUpgradeFromOptimistic(Version version) {
    return Noted(latch_.TryUpgradeFromOptimistic(version));
  }
  [[nodiscard]] bool TryShareFromOptimistic(Version version) {
    return Noted(latch_.TryShareFromOptimistic(version));
  }

  [[nodiscard]] bool TryOptimistic(Version* version) const { return latch_.TryOptimistic(version); }
  [[nodiscard]] bool Validate(Version version) const { return latch_.Validate(version); }
  [[nodiscard]] bool IsLockedExclusive() const { return latch_.IsLockedExclusive(); }
  [[nodiscard]] Version version() const { return latch_.version(); }
  [[nodiscard]] Version VersionOnceUnlocked() const { return latch_.VersionOnceUnlocked(); }

 private:
  static bool Noted(bool taken) {
    if (taken) NoteLatchTaken(LatchRank::kPage);
    return taken;
  }

  Latch latch_;
};
static_assert(sizeof(PageLatch) == 8);

}  // namespace rowan
