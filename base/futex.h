// SPDX-License-Identifier: GPL-2.0-only
// A word to sleep on, without the sched_yield rounds that std::atomic::wait does first: on busy
// processors each round is a context switch, and it ends a wait for a sync or another transaction
// no sooner.
#pragma once

#include <atomic>
#include <cstdint>

namespace rowan {

constexpr uint64_t kNoTimeLimit = UINT64_MAX;

/// Sleeps while `word` is `expected`. Returns on a wake-up, after `nanos` (kNoTimeLimit: never), or
/// spuriously: callers check again.
void FutexWait(std::atomic<uint32_t>* word, uint32_t expected, uint64_t nanos = kNoTimeLimit);

/// Wakes all threads that sleep on the word. Only its address is used: the word may be gone.
void FutexWakeAll(std::atomic<uint32_t>* word);

/// The same for threads that share a word and are told apart by `bits`, not 0: a call wakes those
/// that sleep with any of its bits.
void FutexWaitWith(std::atomic<uint32_t>* word, uint32_t expected, uint32_t bits);
void FutexWakeWith(std::atomic<uint32_t>* word, uint32_t bits);

}  // namespace rowan
