// SPDX-License-Identifier: GPL-2.0-only
// What the lock table tells operators and tests. Each bucket is looked at under its latch, one
// after the other: the picture as a whole is not of one instant.
#include "mvcc/lock/lock_table_impl.h"

namespace rowan {

std::vector<LockInfo> LockTable::Describe(size_t count_max) const {
  std::vector<LockInfo> infos;
  for (uint64_t i = 0; i <= impl_->bucket_mask && infos.size() < count_max; ++i) {
    LockBucket* bucket = &impl_->buckets[i];
    if (bucket->first.load(std::memory_order_acquire) == nullptr) continue;
    ExclusiveLatchGuard guard(&bucket->latch);
    LockRequest* request = bucket->first.load(std::memory_order_relaxed);
    for (; request != nullptr && infos.size() < count_max; request = request->chain_next) {
      infos.push_back({.owner = request->owner->txn_id(),
                       .index = request->key.index,
                       .key_hash = request->key.key_hash,
                       .mode = request->mode,
                       .kind = request->kind,
                       .granted = request->granted()});
    }
  }
  impl_->folded.Describe(count_max, &infos);
  return infos;
}

uint64_t LockTable::lock_count() const { return impl_->pool.taken(); }

uint64_t LockTable::memory_bytes() const {
  return impl_->pool.memory_bytes() + impl_->folded.memory_bytes();
}

std::string LockTable::LastDeadlock() const {
  std::lock_guard lock(impl_->graph_mutex);
  return impl_->last_deadlock;
}

void LockTable::SetShutdownSign(ShutdownSign sign) { impl_->shutdown_sign = sign; }

Status LockTable::Check() const {
  if (!impl_->folded.Check()) return Status(Code::kCorrupt, "the folded locks are in disorder");
  for (uint64_t i = 0; i <= impl_->bucket_mask; ++i) {
    LockBucket* bucket = &impl_->buckets[i];
    ExclusiveLatchGuard guard(&bucket->latch);
    LockRequest* previous = nullptr;
    LockRequest* request = bucket->first.load(std::memory_order_relaxed);
    for (; request != nullptr; previous = request, request = request->chain_next) {
      if (request->chain_previous != previous) {
        return Status(Code::kCorrupt, "a lock queue's back link is wrong");
      }
      for (LockRequest* other = request->chain_next; other != nullptr;
           other = other->chain_next) {
        if (other->key != request->key || !other->granted()) continue;
        if (!request->granted()) return Status(Code::kCorrupt, "a waiting lock stands too early");
        const bool intention = request->kind == LockKind::kInsertIntention ||
                               other->kind == LockKind::kInsertIntention;
        if (other->owner != request->owner && !intention &&
            LocksConflict(request->mode, request->kind, other->mode, other->kind)) {
          return Status(Code::kCorrupt, "two granted locks conflict");
        }
      }
    }
    if (bucket->last != previous) return Status(Code::kCorrupt, "a lock queue's end is wrong");
  }
  return Status::Ok();
}

}  // namespace rowan
