// SPDX-License-Identifier: GPL-2.0-only
#include "base/futex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

namespace rowan {
namespace {

constexpr uint64_t kNanosPerSecond = 1'000'000'000;

static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t), "the kernel looks at the word");

}  // namespace

void FutexWait(std::atomic<uint32_t>* word, uint32_t expected, uint64_t nanos) {
  timespec duration{};
  duration.tv_sec = static_cast<time_t>(nanos / kNanosPerSecond);
  duration.tv_nsec = static_cast<long>(nanos % kNanosPerSecond);
  const timespec* limit = nanos == kNoTimeLimit ? nullptr : &duration;
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(word), FUTEX_WAIT_PRIVATE, expected, limit,
          nullptr, 0);
}

void FutexWakeAll(std::atomic<uint32_t>* word) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(word), FUTEX_WAKE_PRIVATE, INT_MAX, nullptr,
          nullptr, 0);
}

void FutexWaitWith(std::atomic<uint32_t>* word, uint32_t expected, uint32_t bits) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(word), FUTEX_WAIT_BITSET_PRIVATE, expected,
          nullptr, nullptr, bits);
}

void FutexWakeWith(std::atomic<uint32_t>* word, uint32_t bits) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(word), FUTEX_WAKE_BITSET_PRIVATE, INT_MAX, nullptr,
          nullptr, bits);
}

}  // namespace rowan
