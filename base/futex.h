// SPDX-License-Identifier: GPL-2.0-only
// A word to sleep on, without the turns of sched_yield that std::atomic::wait takes first: on busy
// processors each of them is a switch of threads, and a thread that has to wait for a sync or for
// another transaction is not there sooner for them.
#pragma once

#include <atomic>
#include <cstdint>

namespace rowan {

constexpr uint64_t kNoTimeLimit = UINT64_MAX;

/// Sleeps while `word` is `expected`. Returns on a wake-up, after `nanos` (kNoTimeLimit: never), or
/// for no reason: callers look again.
void FutexWait(std::atomic<uint32_t>* word, uint32_t expected, uint64_t nanos = kNoTimeLimit);

/// Wakes all who sleep on the word. Only its address is used: the word may be gone.
void FutexWakeAll(std::atomic<uint32_t>* word);

}  // namespace rowan
