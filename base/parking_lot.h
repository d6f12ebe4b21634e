// SPDX-License-Identifier: GPL-2.0-only
// Parking lot: threads sleep by address, so that a lock word needs no room for a queue.
// 256 buckets, each with a mutex and a list of the sleepers whose address hashes to it; every
// sleeper has its own condition variable, so neighbours in a bucket do not wake each other.
//
// No lost wake-ups: the sleeper's predicate and the waker's update both run under the bucket mutex.
// The thread that changes the state makes it visible before it calls Unpark; by then a thread that
// saw the old state under the mutex is on the list.
// Thread safety: all functions from any thread. Callbacks must not park or unpark.
#pragma once

#include <cstdint>

namespace rowan {

/// What a sleeper waits for; decides which sleepers UnparkSelected wakes.
enum class ParkKind : uint8_t { kShared, kExclusive };
/// Which sleepers to wake: the longest-waiting exclusive sleeper alone, or with it every shared
/// one.
enum class Unpark : uint8_t { kOneExclusive, kBoth };

namespace parking_internal {
bool ParkErased(const void* address, ParkKind kind, bool (*should_sleep)(void*), void* argument);
void UnparkErased(const void* address, Unpark selection, void (*before_wake)(void*, bool),
                  void* argument);
}  // namespace parking_internal

/// Sleeps until unparked, if `should_sleep()` holds under the bucket mutex. Returns true if it
/// slept. A return says nothing about the state: the caller checks again.
template <typename Predicate>
bool Park(const void* address, ParkKind kind, Predicate should_sleep) {
  return parking_internal::ParkErased(
      address, kind, [](void* argument) { return (*static_cast<Predicate*>(argument))(); },
      &should_sleep);
}

/// Takes the sleepers that `selection` names off the list, calls `before_wake(others_remain)` under
/// the bucket mutex, then wakes those taken.
template <typename Update>
void UnparkSelected(const void* address, Unpark selection, Update before_wake) {
  parking_internal::UnparkErased(
      address, selection,
      [](void* argument, bool remain) { (*static_cast<Update*>(argument))(remain); }, &before_wake);
}

}  // namespace rowan
