// SPDX-License-Identifier: GPL-2.0-only
#include "mvcc/lock/lock_request.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

namespace rowan {
namespace {

constexpr uint64_t kNanosPerSecond = 1'000'000'000;

}  // namespace

bool LockRequest::Blocks(const LockRequest& waiter) const {
  if (key != waiter.key || owner == waiter.owner) return false;
  const bool past_waiting = waiter.upgrade || waiter.kind == LockKind::kInsertIntention;
  if (past_waiting && !granted()) return false;
  return LocksConflict(mode, kind, waiter.mode, waiter.kind);
}

void LockRequest::Wake() {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAKE_PRIVATE, INT_MAX, nullptr,
          nullptr, 0);
}

void LockRequest::WakeToLook() {
  word.fetch_add(kLookAgain, std::memory_order_acq_rel);
  Wake();
}

void LockRequest::Sleep(uint32_t expected, uint64_t nanos) {
  timespec duration{};
  duration.tv_sec = static_cast<time_t>(nanos / kNanosPerSecond);
  duration.tv_nsec = static_cast<long>(nanos % kNanosPerSecond);
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAIT_PRIVATE, expected, &duration,
          nullptr, 0);
}

}  // namespace rowan
