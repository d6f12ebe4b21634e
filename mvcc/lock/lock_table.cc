// SPDX-License-Identifier: GPL-2.0-only
#include "mvcc/lock/lock_table.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/assertions.h"
#include "mvcc/lock/lock_table_impl.h"

namespace rowan {
namespace {

constexpr uint64_t kBucketsMin = uint64_t{1} << 10;
/// 8 MiB, for short chains with a million entries. There are rarely as many, however much memory
/// locks may take: a transaction folds those above a thousand or two.
constexpr uint64_t kBucketsMax = uint64_t{1} << 18;
/// One bucket (32 bytes) per four requests of a full table: short chains, a tenth of its memory.
constexpr uint64_t kMemoryPerBucket = 4 * sizeof(LockRequest);

Status Refusal(WaitPolicy policy) {
  return Status(policy == WaitPolicy::kNoWait ? Code::kLockNotAvailable : Code::kSkipped);
}

}  // namespace

LockTableImpl::LockTableImpl(uint64_t memory_bytes_max_in)
    : memory_bytes_max(memory_bytes_max_in),
      bucket_mask(std::clamp(std::bit_ceil(memory_bytes_max_in / kMemoryPerBucket), kBucketsMin,
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
  LockRequest* request = pool.Take(beyond_cap || !IsFullFor(txn));
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
    ExclusiveLatchGuard guard(&bucket->latch);
    Detach(bucket, request, &wakes);
  }
  pool.Return(request);
}

LockTable::LockTable(uint64_t memory_bytes_max)
    : impl_(std::make_unique<LockTableImpl>(memory_bytes_max)) {}
LockTable::~LockTable() = default;

QueueScan LockTableImpl::ScanQueue(LockBucket* bucket, const LockAsked& asked) {
  QueueScan scan;
  LockRequest* request = bucket->first.load(std::memory_order_relaxed);
  for (; request != nullptr && scan.covering == nullptr; request = request->chain_next) {
    if (request->key != asked.target) continue;
    if (!request->granted()) {
      scan.waiting.Add(request->owner, request->mode, request->kind);
      if (scan.Conflicts(asked.txn, asked.mode, asked.kind)) break;
      continue;
    }
    scan.granted.Add(request->owner, request->mode, request->kind);
    if (request->owner != asked.txn) continue;
    if (LockCovers(request->mode, request->kind, asked.mode, asked.kind)) scan.covering = request;
    if (HasRecordPart(asked.kind) && HasRecordPart(request->kind)) scan.owns_record = true;
  }
  return scan;
}

FoldedLocks::Own LockTableImpl::BringOut(LockBucket* bucket, const LockAsked& asked,
                                         QueueScan* scan) {
  const auto make_entry = [&](Txn* owner, LockMode mode, LockKind held) {
    const bool intention = asked.kind == LockKind::kInsertIntention;
    const LockKind kind = intention ? LockKind::kGap : LockKind::kRecord;
    ROWAN_DCHECK(LocksConflict(mode, held, asked.mode, asked.kind));
    scan->granted.Add(owner, mode, kind);
    if (asked.policy != WaitPolicy::kWait) return;  // refused, nobody will queue
    if (FindCovering(bucket, owner, asked.target, mode, kind) != nullptr) return;
    LockRequest* request = NewRequest(owner, asked.target, mode, kind, true);
    request->holds = UINT8_MAX;  // the folded lock stays: no Unlock takes this back
    AddGranted(bucket, request);
  };
  return folded.LookAt(asked.txn, asked.target, asked.mode, asked.kind, make_entry);
}

Status LockTableImpl::AskQueue(LockBucket* bucket, const LockAsked& asked, bool* covered) {
  QueueScan scan = ScanQueue(bucket, asked);
  *covered = scan.covering != nullptr;
  if (*covered) {
    if (scan.covering->holds != UINT8_MAX) ++scan.covering->holds;
    return Status::Ok();
  }
  FoldedLocks::Own own;
  if (asked.kind != LockKind::kUniqueValue && folded.AnyIn(asked.target.index)) {
    own = BringOut(bucket, asked, &scan);
    scan.owns_record = scan.owns_record || own.weaker;
  }
  if (!scan.Conflicts(asked.txn, asked.mode, asked.kind)) {
    *covered = own.covers;
    return Status::Ok();
  }
  if (asked.policy != WaitPolicy::kWait) return Refusal(asked.policy);
  LockRequest* request = NewRequest(asked.txn, asked.target, asked.mode, asked.kind, false);
  if (request == nullptr) return Status(Code::kLockTableFull);
  request->upgrade = scan.owns_record;
  AddWaiting(bucket, request);
  asked.txn->queued = request;
  return Status(Code::kLockWait);
}

Status LockTable::TryLock(Txn* txn, const LockTarget& target, LockMode mode, LockKind kind,
                          WaitPolicy policy) {
  Status status = impl_->Prepare(txn);
  if (!status.ok()) return status;
  LockBucket* bucket = impl_->BucketOf(target);
  ExclusiveLatchGuard guard(&bucket->latch);
  bool covered = false;
  status = impl_->AskQueue(bucket, {txn, target, mode, kind, policy}, &covered);
  if (!status.ok() || covered || kind == LockKind::kInsertIntention) return status;
  LockRequest* request = impl_->NewRequest(txn, target, mode, kind, false);
  if (request == nullptr) return Status(Code::kLockTableFull);
  LockTableImpl::AddGranted(bucket, request);
  return Status::Ok();
}

void LockTable::AddImplicit(Txn* owner, LockKey key) {
  LockBucket* bucket = impl_->BucketOf(key);
  ExclusiveLatchGuard guard(&bucket->latch);
  LockRequest* request =
      LockTableImpl::FindCovering(bucket, owner, key, LockMode::kExclusive, LockKind::kRecord);
  const bool covered = request != nullptr;
  if (!covered) {
    request = impl_->NewRequest(owner, key, LockMode::kExclusive, LockKind::kRecord, true);
  }
  request->holds = UINT8_MAX;  // the row itself carries the lock: no Unlock takes it back
  if (!covered) LockTableImpl::AddGranted(bucket, request);
}

bool LockTable::Conflicts(const Txn* txn, const LockTarget& target, LockMode mode,
                          LockKind kind) const {
  LockBucket* bucket = impl_->BucketOf(target);
  // Callers hold the leaf latch under which any lock that matters to them was asked for.
  if (bucket->first.load(std::memory_order_acquire) != nullptr) {
    ExclusiveLatchGuard guard(&bucket->latch);
    LockRequest* request = bucket->first.load(std::memory_order_relaxed);
    for (; request != nullptr; request = request->chain_next) {
      if (request->key == target && request->owner != txn &&
          LocksConflict(request->mode, request->kind, mode, kind)) {
        return true;
      }
    }
  }
  // Behind the queue: what its owner folds meanwhile is found here before it is gone there.
  if (kind == LockKind::kUniqueValue || !impl_->folded.AnyOfOthers(txn, target.index)) return false;
  bool conflict = false;
  impl_->folded.LookAt(txn, target, mode, kind,
                       [&](Txn*, LockMode, LockKind) { conflict = true; });
  return conflict;
}

void LockTable::Unlock(Txn* txn, LockKey key, LockMode mode, LockKind kind) {
  LockBucket* bucket = impl_->BucketOf(key);
  LockRequest* request = nullptr;
  WakeList wakes;
  {
    ExclusiveLatchGuard guard(&bucket->latch);
    request = LockTableImpl::FindCovering(bucket, txn, key, mode, kind);
    if (request == nullptr || request->holds == UINT8_MAX) return;
    if (--request->holds != 0) return;
    LockTableImpl::Detach(bucket, request, &wakes);
  }
  impl_->pool.Return(request);
}

void LockTable::ReleaseAll(Txn* txn) {
  txn->queued = nullptr;
  // First what others make entries of: none is added behind the last one removed.
  if (txn->folded != nullptr) impl_->folded.Release(txn);
  while (LockRequest* request = txn->locks.load(std::memory_order_acquire)) {
    impl_->Remove(request);
  }
  txn->folded_locks.store(0, std::memory_order_relaxed);
  txn->fold_at = kFoldAtFirst;
}

}  // namespace rowan
