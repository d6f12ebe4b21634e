// SPDX-License-Identifier: GPL-2.0-only
#include "base/parking_lot.h"

#include <array>

#include "base/mutex.h"

namespace rowan::parking_internal {
namespace {

/// Lives on the stack of the sleeping thread; linked and unlinked under the bucket mutex.
struct Sleeper {
  const void* address;
  ParkKind kind;
  bool woken = false;
  Sleeper* next = nullptr;
  Condition wake;
};

struct alignas(64) Bucket {
  Mutex mutex{LatchRank::kParkingLot};
  Sleeper* first ROWAN_GUARDED_BY(mutex) = nullptr;  // in order of arrival
  Sleeper** end ROWAN_GUARDED_BY(mutex) = &first;    // the link a new sleeper goes into
};
static_assert(sizeof(Bucket) == 64);

constexpr size_t kBuckets = 256;

Bucket& BucketOf(const void* address) {
  // Never destroyed: threads may still park while the process exits.
  static std::array<Bucket, kBuckets>& buckets = *new std::array<Bucket, kBuckets>();
  const uint64_t hash = reinterpret_cast<uintptr_t>(address) * 0x9E3779B97F4A7C15ull;
  return buckets[hash >> 56];
}

/// Unlinks the sleepers that `address` and `selection` name; returns them as a list of their own.
Sleeper* TakeSelected(Bucket& bucket, const void* address, Unpark selection, bool* remain)
    ROWAN_REQUIRES(bucket.mutex) {
  Sleeper* taken = nullptr;
  Sleeper** taken_end = &taken;
  Sleeper** link = &bucket.first;
  bool exclusive_wanted = true;
  while (*link != nullptr) {
    Sleeper* sleeper = *link;
    const bool ours = sleeper->address == address;
    const bool take = ours && (sleeper->kind == ParkKind::kShared ? selection == Unpark::kBoth
                                                                  : exclusive_wanted);
    if (!take) {
      *remain |= ours;
      link = &sleeper->next;
      continue;
    }
    if (sleeper->kind == ParkKind::kExclusive) exclusive_wanted = false;
    *link = sleeper->next;
    sleeper->next = nullptr;
    *taken_end = sleeper;
    taken_end = &sleeper->next;
  }
  bucket.end = link;
  return taken;
}

}  // namespace

bool ParkErased(const void* address, ParkKind kind, bool (*should_sleep)(void*), void* argument) {
  Bucket& bucket = BucketOf(address);
  const MutexLock lock(&bucket.mutex);
  if (!should_sleep(argument)) return false;
  Sleeper self{.address = address, .kind = kind, .wake = {}};
  *bucket.end = &self;
  bucket.end = &self.next;
  while (!self.woken) self.wake.Wait(&bucket.mutex);
  return true;
}

void UnparkErased(const void* address, Unpark selection, void (*before_wake)(void*, bool),
                  void* argument) {
  Bucket& bucket = BucketOf(address);
  const MutexLock lock(&bucket.mutex);
  bool remain = false;
  Sleeper* sleeper = TakeSelected(bucket, address, selection, &remain);
  before_wake(argument, remain);
  while (sleeper != nullptr) {
    // Once woken is set and the mutex released, the sleeper's stack frame may vanish; all of this
    // happens under the mutex, and `next` is read before the sleeper can run.
    Sleeper* next = sleeper->next;
    sleeper->woken = true;
    sleeper->wake.NotifyOne();
    sleeper = next;
  }
}

}  // namespace rowan::parking_internal
