// SPDX-License-Identifier: GPL-2.0-only
#include "mvcc/lock/lock_request_pool.h"

#include <algorithm>
#include <memory>

#include "base/assertions.h"
#include "base/thread_shard.h"

namespace rowan {
namespace {

/// 64 KiB: large enough that growing is rare, small enough for a cap to be meaningful.
constexpr size_t kSlabRequests = 1024;

}  // namespace

LockRequestPool::~LockRequestPool() {
  for (LockRequest* slab : slabs_) delete[] slab;
}

LockRequest* LockRequestPool::AcquireFrom(Shard* shard) {
  shard->latch.LockExclusive();
  LockRequest* request = shard->free;
  if (request != nullptr) shard->free = request->chain_next;
  shard->latch.UnlockExclusive();
  return request;
}

LockRequest* LockRequestPool::Acquire(bool may_grow) {
  const uint32_t home = ThreadShard() % kShards;
  Shard* shard = &shards_[home];
  LockRequest* request = AcquireFrom(shard);
  if (request == nullptr && may_grow) request = AddSlab(shard);
  for (uint32_t step = 1; request == nullptr && step < kShards; ++step) {
    request = AcquireFrom(&shards_[(home + step) % kShards]);
  }
  if (request != nullptr) shard->in_use.fetch_add(1, std::memory_order_relaxed);
  return request;
}

LockRequest* LockRequestPool::AddSlab(Shard* shard) {
  auto owned = std::make_unique<LockRequest[]>(kSlabRequests);
  LockRequest* const slab = owned.get();
  {
    const MutexLock lock(&slabs_mutex_);
    slabs_.push_back(slab);
  }
  static_cast<void>(owned.release());
  memory_bytes_.fetch_add(kSlabRequests * sizeof(LockRequest), std::memory_order_relaxed);
  for (size_t i = 1; i + 1 < kSlabRequests; ++i) slab[i].chain_next = &slab[i + 1];
  shard->latch.LockExclusive();
  slab[kSlabRequests - 1].chain_next = shard->free;
  shard->free = &slab[1];
  shard->latch.UnlockExclusive();
  return &slab[0];
}

void LockRequestPool::Release(LockRequest* request) {
  ROWAN_DCHECK(request != nullptr);
  Shard* shard = &shards_[ThreadShard() % kShards];
  shard->latch.LockExclusive();
  request->chain_next = shard->free;
  shard->free = request;
  shard->latch.UnlockExclusive();
  shard->in_use.fetch_sub(1, std::memory_order_relaxed);
}

uint64_t LockRequestPool::in_use() const {
  int64_t sum = 0;
  for (const Shard& shard : shards_) sum += shard.in_use.load(std::memory_order_relaxed);
  return static_cast<uint64_t>(std::max<int64_t>(0, sum));
}

}  // namespace rowan
