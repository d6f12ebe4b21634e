// SPDX-License-Identifier: GPL-2.0-only
#include "mvcc/lock_table.h"

#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "base/assertions.h"
#include "mvcc/lock_table_impl.h"

namespace rowan {
namespace {

constexpr uint64_t kSupremumHash = UINT64_MAX;
constexpr uint64_t kBucketsMin = uint64_t{1} << 10;
constexpr uint64_t kBucketsMax = uint64_t{1} << 20;
/// One bucket (32 bytes) per four requests of a full table: short chains, a tenth of its memory.
constexpr uint64_t kMemoryPerBucket = 4 * sizeof(LockRequest);

/// What one walk over a queue tells a new request.
struct QueueScan {
  LockRequest* covering = nullptr;
  LockRequest* first_waiting = nullptr;
  bool owns_record = false;         ///< holds the record in a weaker mode: an upgrade
  bool owns_record_fully = false;   ///< needs only the gap part
  QueueSummary granted;
  QueueSummary waiting;

  [[nodiscard]] bool Conflicts(const Txn* txn, LockMode mode, LockKind kind) const {
    if (granted.Blocks(txn, mode, kind)) return true;
    if (owns_record || kind == LockKind::kInsertIntention) return false;
    return waiting.Blocks(txn, mode, kind);
  }
};

void NoteOwn(QueueScan* scan, LockRequest* own, LockMode mode, LockKind kind) {
  if (LockCovers(own->mode, own->kind, mode, kind)) scan->covering = own;
  if (!HasRecordPart(kind) || !HasRecordPart(own->kind)) return;
  scan->owns_record = true;
  if (own->mode == LockMode::kExclusive || mode == LockMode::kShared) {
    scan->owns_record_fully = true;
  }
}

/// Stops where the answer cannot change any more: an own lock covers it all, or a waiting request
/// blocks it.
QueueScan ScanQueue(LockBucket* bucket, const Txn* txn, LockKey key, LockMode mode,
                    LockKind kind) {
  QueueScan scan;
  LockRequest* request = bucket->first.load(std::memory_order_relaxed);
  for (; request != nullptr && scan.covering == nullptr; request = request->chain_next) {
    if (request->key != key) continue;
    if (request->granted()) {
      scan.granted.Add(request->owner, request->mode, request->kind);
      if (request->owner == txn) NoteOwn(&scan, request, mode, kind);
      continue;
    }
    if (scan.first_waiting == nullptr) scan.first_waiting = request;
    scan.waiting.Add(request->owner, request->mode, request->kind);
    if (scan.Conflicts(txn, mode, kind)) break;
  }
  return scan;
}

Status Refusal(WaitPolicy policy) {
  return Status(policy == WaitPolicy::kNoWait ? Code::kLockNotAvailable : Code::kSkipped);
}

}  // namespace

LockKey MakeLockKey(IndexId index, Bytes key) {
  const uint64_t hash = XXH3_64bits(key.data(), key.size());
  // The reserved value only moves: sharing a hash with another key costs waiting, nothing else.
  return {index, hash == kSupremumHash ? kSupremumHash - 1 : hash};
}

LockKey SupremumLockKey(IndexId index) { return {index, kSupremumHash}; }

LockTableImpl::LockTableImpl(uint64_t memory_bytes_max)
    : pool(memory_bytes_max),
      bucket_mask(std::clamp(std::bit_ceil(memory_bytes_max / kMemoryPerBucket), kBucketsMin,
                             kBucketsMax) -
                  1),
      buckets(std::make_unique<LockBucket[]>(bucket_mask + 1)) {}

LockBucket* LockTableImpl::BucketOf(LockKey key) const {
  const uint64_t mixed = (key.key_hash ^ key.index.value()) * 0x9E3779B97F4A7C15ull;
  return &buckets[(mixed >> 32) & bucket_mask];
}

void LockTableImpl::Link(LockBucket* bucket, LockRequest* request, LockRequest* before) {
  LockRequest* previous = before == nullptr ? bucket->last : before->chain_previous;
  request->chain_next = before;
  request->chain_previous = previous;
  if (previous == nullptr) {
    bucket->first.store(request, std::memory_order_release);
  } else {
    previous->chain_next = request;
  }
  (before == nullptr ? bucket->last : before->chain_previous) = request;
}

void LockTableImpl::Unlink(LockBucket* bucket, LockRequest* request) {
  LockRequest* previous = request->chain_previous;
  LockRequest* next = request->chain_next;
  if (previous == nullptr) {
    bucket->first.store(next, std::memory_order_release);
  } else {
    previous->chain_next = next;
  }
  (next == nullptr ? bucket->last : next->chain_previous) = previous;
}

LockRequest* LockTableImpl::FirstWaiting(LockBucket* bucket, LockKey key, bool behind_upgrades) {
  if (bucket->waiting == 0) return nullptr;
  LockRequest* request = bucket->first.load(std::memory_order_relaxed);
  for (; request != nullptr; request = request->chain_next) {
    if (request->key != key || request->granted()) continue;
    if (!behind_upgrades || !request->upgrade) return request;
  }
  return nullptr;
}

LockRequest* LockTableImpl::FindCovering(LockBucket* bucket, const Txn* txn, LockKey key,
                                         LockMode mode, LockKind kind) {
  LockRequest* request = bucket->first.load(std::memory_order_relaxed);
  for (; request != nullptr; request = request->chain_next) {
    if (request->owner == txn && request->key == key && request->granted() &&
        LockCovers(request->mode, request->kind, mode, kind)) {
      return request;
    }
  }
  return nullptr;
}

void LockTableImpl::GrantWaiters(LockBucket* bucket, LockKey key, bool record, bool gap,
                                 WakeList* wakes) {
  if (bucket->waiting == 0) return;
  QueueSummary granted;
  QueueSummary waiting;
  LockRequest* first_waiting = nullptr;
  LockRequest* next = nullptr;
  LockRequest* request = bucket->first.load(std::memory_order_relaxed);
  for (; request != nullptr; request = next) {
    next = request->chain_next;
    if (request->key != key) continue;
    if (request->granted()) {
      granted.Add(request->owner, request->mode, request->kind);
      continue;
    }
    if (first_waiting == nullptr) first_waiting = request;
    const bool intention = request->kind == LockKind::kInsertIntention;
    if (intention ? !gap : !record) continue;
    const bool past_waiting = request->upgrade || intention;
    if (granted.Blocks(request->owner, request->mode, request->kind) ||
        (!past_waiting && waiting.Blocks(request->owner, request->mode, request->kind))) {
      waiting.Add(request->owner, request->mode, request->kind);
      // Nothing but insert intentions gets past a blocked exclusive request.
      if (!gap && !request->upgrade && request->mode == LockMode::kExclusive &&
          HasRecordPart(request->kind)) {
        return;
      }
      continue;
    }
    if (request == first_waiting) {
      first_waiting = nullptr;  // the next waiting request takes its place
    } else {
      Unlink(bucket, request);
      Link(bucket, request, first_waiting);
    }
    granted.Add(request->owner, request->mode, request->kind);
    --bucket->waiting;
    request->word.fetch_or(LockRequest::kGranted, std::memory_order_acq_rel);
    wakes->Add(request);
  }
}

LockRequest* LockTableImpl::NewRequest(Txn* txn, LockKey key, LockMode mode, LockKind kind,
                                       bool beyond_cap) {
  LockRequest* request = pool.Take(beyond_cap);
  if (request == nullptr) return nullptr;
  request->owner = txn;
  request->key = key;
  request->mode = mode;
  request->kind = kind;
  request->upgrade = false;
  request->holds = 1;
  request->word.store(0, std::memory_order_relaxed);
  return request;
}

void LockTableImpl::PushToOwner(LockRequest* request) {
  Txn* txn = request->owner;
  request->txn_next = txn->locks.load(std::memory_order_relaxed);
  while (!txn->locks.compare_exchange_weak(request->txn_next, request, std::memory_order_release,
                                           std::memory_order_relaxed)) {
  }
  txn->lock_count.fetch_add(1, std::memory_order_relaxed);
}

void LockTableImpl::PopFromOwner(LockRequest* request) {
  Txn* txn = request->owner;
  txn->lock_count.fetch_sub(1, std::memory_order_relaxed);
  LockRequest* head = request;
  if (txn->locks.compare_exchange_strong(head, request->txn_next, std::memory_order_acquire)) {
    return;
  }
  // Others only push in front, so behind the head the list is the owner's alone.
  LockRequest* before = head;
  while (before->txn_next != request) before = before->txn_next;
  before->txn_next = request->txn_next;
}

void LockTableImpl::AddGranted(LockBucket* bucket, LockRequest* request) {
  request->word.store(LockRequest::kGranted, std::memory_order_release);
  Link(bucket, request, FirstWaiting(bucket, request->key, false));
  PushToOwner(request);
}

void LockTableImpl::AddWaiting(LockBucket* bucket, LockRequest* request) {
  Link(bucket, request, request->upgrade ? FirstWaiting(bucket, request->key, true) : nullptr);
  ++bucket->waiting;
  PushToOwner(request);
}

void LockTableImpl::Detach(LockBucket* bucket, LockRequest* request, WakeList* wakes) {
  PopFromOwner(request);
  Unlink(bucket, request);
  if (!request->granted()) --bucket->waiting;
  GrantWaiters(bucket, request->key,
               HasRecordPart(request->kind) || request->kind == LockKind::kUniqueValue,
               HasGapPart(request->kind), wakes);
}

void LockTableImpl::Remove(LockRequest* request) {
  LockBucket* bucket = BucketOf(request->key);
  WakeList wakes;
  {
    BucketGuard guard(bucket);
    Detach(bucket, request, &wakes);
  }
  pool.Return(request);
}

LockTable::LockTable(uint64_t memory_bytes_max)
    : impl_(std::make_unique<LockTableImpl>(memory_bytes_max)) {}
LockTable::~LockTable() = default;

Status LockTable::TryLock(Txn* txn, LockKey key, LockMode mode, LockKind kind,
                          WaitPolicy policy) {
  // A caller that started over instead of waiting.
  if (LockRequest* stale = std::exchange(txn->queued, nullptr)) impl_->Remove(stale);
  LockBucket* bucket = impl_->BucketOf(key);
  BucketGuard guard(bucket);
  QueueScan scan = ScanQueue(bucket, txn, key, mode, kind);
  if (scan.covering != nullptr) {
    if (scan.covering->holds != UINT8_MAX) ++scan.covering->holds;
    return Status::Ok();
  }
  if (kind == LockKind::kNextKey && scan.owns_record_fully) {
    kind = LockKind::kGap;
    if (LockTableImpl::FindCovering(bucket, txn, key, mode, kind)) return Status::Ok();
  }
  const bool conflict = scan.Conflicts(txn, mode, kind);
  if (conflict && policy != WaitPolicy::kWait) return Refusal(policy);
  if (!conflict && kind == LockKind::kInsertIntention) return Status::Ok();
  LockRequest* request = impl_->NewRequest(txn, key, mode, kind, false);
  if (request == nullptr) return Status(Code::kLockTableFull);
  if (!conflict) {
    LockTableImpl::AddGranted(bucket, request);
    return Status::Ok();
  }
  request->upgrade = scan.owns_record;
  LockTableImpl::AddWaiting(bucket, request);
  txn->queued = request;
  return Status(Code::kLockWait);
}

void LockTable::AddImplicit(Txn* owner, LockKey key) {
  LockBucket* bucket = impl_->BucketOf(key);
  BucketGuard guard(bucket);
  LockRequest* request =
      LockTableImpl::FindCovering(bucket, owner, key, LockMode::kExclusive, LockKind::kRecord);
  const bool covered = request != nullptr;
  if (!covered) {
    request = impl_->NewRequest(owner, key, LockMode::kExclusive, LockKind::kRecord, true);
  }
  request->holds = UINT8_MAX;  // the row itself carries the lock: no Unlock takes it back
  if (!covered) LockTableImpl::AddGranted(bucket, request);
}

bool LockTable::Conflicts(const Txn* txn, LockKey key, LockMode mode, LockKind kind) const {
  LockBucket* bucket = impl_->BucketOf(key);
  // Callers hold the leaf latch under which any lock that matters to them was asked for.
  if (bucket->first.load(std::memory_order_acquire) == nullptr) return false;
  BucketGuard guard(bucket);
  LockRequest* request = bucket->first.load(std::memory_order_relaxed);
  for (; request != nullptr; request = request->chain_next) {
    if (request->key == key && request->owner != txn &&
        LocksConflict(request->mode, request->kind, mode, kind)) {
      return true;
    }
  }
  return false;
}

void LockTable::Unlock(Txn* txn, LockKey key, LockMode mode, LockKind kind) {
  LockBucket* bucket = impl_->BucketOf(key);
  LockRequest* request = nullptr;
  WakeList wakes;
  {
    BucketGuard guard(bucket);
    request = LockTableImpl::FindCovering(bucket, txn, key, mode, kind);
    if (request == nullptr || request->holds == UINT8_MAX) return;
    if (--request->holds != 0) return;
    LockTableImpl::Detach(bucket, request, &wakes);
  }
  impl_->pool.Return(request);
}

void LockTable::ReleaseAll(Txn* txn) {
  txn->queued = nullptr;
  // Until the list is empty: inheriting a gap pushes to it while a request of ours is still queued.
  while (LockRequest* request = txn->locks.load(std::memory_order_acquire)) {
    impl_->Remove(request);
  }
}

void LockTable::InheritGap(LockKey from, LockKey to) {
  LockBucket* source = impl_->BucketOf(from);
  if (from == to || source->first.load(std::memory_order_acquire) == nullptr) return;
  LockBucket* target = impl_->BucketOf(to);
  LockBucket* low = std::min(source, target);
  LockBucket* high = std::max(source, target);
  low->latch.LockExclusive();
  if (high != low) high->latch.LockExclusive();
  LockRequest* request = source->first.load(std::memory_order_relaxed);
  for (; request != nullptr; request = request->chain_next) {
    if (request->key != from || !request->granted() || !HasGapPart(request->kind)) continue;
    if (LockTableImpl::FindCovering(target, request->owner, to, request->mode, LockKind::kGap)) {
      continue;
    }
    LockRequest* heir =
        impl_->NewRequest(request->owner, to, request->mode, LockKind::kGap, true);
    heir->holds = UINT8_MAX;
    LockTableImpl::AddGranted(target, heir);
  }
  if (high != low) high->latch.UnlockExclusive();
  low->latch.UnlockExclusive();
}

}  // namespace rowan
