// SPDX-License-Identifier: GPL-2.0-only
#include "mvcc/lock/lock_table.h"

#include <utility>

#include "base/assertions.h"

namespace rowan {
namespace {

Status Refusal(WaitPolicy policy) {
  return Status(policy == WaitPolicy::kNoWait ? Code::kLockNotAvailable : Code::kSkipped);
}

}  // namespace

LockTable::LockTable(uint64_t memory_bytes_max)
    : buckets_(memory_bytes_max),
      folding_(&buckets_, &pool_, &folded_, memory_bytes_max),
      waits_(&buckets_, &pool_) {}

LockRequest* LockTable::NewRequest(Txn* txn, LockKey key, LockMode mode, LockKind kind,
                                   MemoryCap cap) {
  LockRequest* request = pool_.Acquire(cap == MemoryCap::kPassed || !folding_.IsFullFor(txn));
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

void LockTable::Remove(LockRequest* request) {
  LockBucket* bucket = buckets_.Of(request->key);
  WakeList wakes;
  {
    ExclusiveLatchGuard guard(&bucket->latch);
    bucket->Remove(request, &wakes);
  }
  pool_.Release(request);
}

Status LockTable::Prepare(Txn* txn) {
  if (txn->rollback.required != Code::kOk) return Status(txn->rollback.required);
  // Left by a caller that started over instead of waiting.
  if (LockRequest* stale = std::exchange(txn->locks.queued, nullptr)) Remove(stale);
  return folding_.FoldOld(txn);
}

FoldedLocks::Own LockTable::Unfold(LockBucket* bucket, const LockAttempt& attempt,
                                   QueueScan* scan) {
  const auto make_entry = [&](Txn* owner, LockMode mode, LockKind held) {
    bucket->latch.AssertHeld();
    const bool intention = attempt.kind == LockKind::kInsertIntention;
    const LockKind kind = intention ? LockKind::kGap : LockKind::kRecord;
    ROWAN_DCHECK(LocksConflict(mode, held, attempt.mode, attempt.kind));
    scan->granted.Add(owner, mode, kind);
    if (attempt.policy != WaitPolicy::kWait) return;  // refused, so it does not queue
    if (bucket->FindCovering(owner, attempt.target, mode, kind) != nullptr) return;
    LockRequest* request = NewRequest(owner, attempt.target, mode, kind, MemoryCap::kPassed);
    request->holds = UINT8_MAX;  // the folded lock stays: Unlock does not undo this
    bucket->AddGranted(request);
  };
  return folded_.LookAt(attempt.txn, attempt.target, attempt.mode, attempt.kind, make_entry);
}

Status LockTable::TryQueue(LockBucket* bucket, const LockAttempt& attempt, bool* covered) {
  ROWAN_DCHECK(attempt.txn->locks.queued == nullptr);
  ROWAN_DCHECK(bucket == buckets_.Of(attempt.target));
  QueueScan scan = bucket->Scan(attempt);
  *covered = scan.covering != nullptr;
  if (*covered) {
    if (scan.covering->holds != UINT8_MAX) ++scan.covering->holds;
    return Status::Ok();
  }
  FoldedLocks::Own own;
  if (attempt.kind != LockKind::kUniqueValue && folded_.AnyIn(attempt.target.index)) {
    own = Unfold(bucket, attempt, &scan);
    scan.owns_record = scan.owns_record || own.weaker;
  }
  if (!scan.Conflicts(attempt.txn, attempt.mode, attempt.kind)) {
    *covered = own.covers;
    return Status::Ok();
  }
  if (attempt.policy != WaitPolicy::kWait) return Refusal(attempt.policy);
  attempt.txn->locks.queued_key.assign(AsText(attempt.target.key));
  LockRequest* request =
      NewRequest(attempt.txn, attempt.target, attempt.mode, attempt.kind, MemoryCap::kKept);
  if (request == nullptr) return Status(Code::kLockTableFull);
  request->upgrade = scan.owns_record;
  bucket->AddWaiting(request);
  attempt.txn->locks.queued = request;
  return Status(Code::kLockWait);
}

Status LockTable::TryLock(Txn* txn, const LockTarget& target, LockMode mode, LockKind kind,
                          WaitPolicy policy) {
  Status status = Prepare(txn);
  if (!status.ok()) return status;
  LockBucket* bucket = buckets_.Of(target);
  ExclusiveLatchGuard guard(&bucket->latch);
  bool covered = false;
  status = TryQueue(bucket, {txn, target, mode, kind, policy}, &covered);
  if (!status.ok() || covered || kind == LockKind::kInsertIntention) return status;
  LockRequest* request = NewRequest(txn, target, mode, kind, MemoryCap::kKept);
  if (request == nullptr) return Status(Code::kLockTableFull);
  bucket->AddGranted(request);
  return Status::Ok();
}

Status LockTable::LockScanned(Txn* txn, const LockTarget& target, LockMode mode, WaitPolicy policy,
                              const RangePiece& piece) {
  Status status = Prepare(txn);
  if (!status.ok()) return status;
  LockBucket* bucket = buckets_.Of(target);
  const ExclusiveLatchGuard guard(&bucket->latch);
  ROWAN_DCHECK(piece.unbounded || CompareBytes(piece.low, piece.high) <= 0);
  // Our own ranges need no check: whatever they hold of the record joins the piece.
  if (bucket->first.load(std::memory_order_relaxed) != nullptr ||
      folded_.AnyOfOthers(txn, target.index)) {
    bool covered = false;
    const LockAttempt attempt{txn, target, mode, LockKind::kRecord, policy};
    status = TryQueue(bucket, attempt, &covered);
    if (!status.ok()) return status;
    // An upgrade passes requests that wait already: they are granted by what their queue shows.
    if (!covered && bucket->FirstWaiting(target) != nullptr) {
      LockRequest* request = NewRequest(txn, target, mode, LockKind::kRecord, MemoryCap::kPassed);
      request->holds = UINT8_MAX;
      bucket->AddGranted(request);
    }
  }
  return folding_.Cover(txn, target.index, mode, piece, 1);
}

Status LockTable::LockGap(Txn* txn, IndexId index, LockMode mode, const RangePiece& piece) {
  return folding_.Cover(txn, index, mode, piece, 0);
}

void LockTable::AddImplicit(Txn* owner, LockKey key) {
  ROWAN_DCHECK(owner->is_writer());
  LockBucket* bucket = buckets_.Of(key);
  ExclusiveLatchGuard guard(&bucket->latch);
  LockRequest* request = bucket->FindCovering(owner, key, LockMode::kExclusive, LockKind::kRecord);
  const bool covered = request != nullptr;
  if (!covered) {
    request = NewRequest(owner, key, LockMode::kExclusive, LockKind::kRecord, MemoryCap::kPassed);
  }
  request->holds = UINT8_MAX;  // the row carries the lock: Unlock does not undo it
  if (!covered) bucket->AddGranted(request);
}

void LockTable::DropImplicit(Txn* owner, const LockTarget& target) {
  LockBucket* bucket = buckets_.Of(target);
  if (bucket->first.load(std::memory_order_acquire) == nullptr) return;
  LockRequest* request = nullptr;
  WakeList wakes;
  {
    const ExclusiveLatchGuard guard(&bucket->latch);
    request = bucket->FindCovering(owner, target, LockMode::kExclusive, LockKind::kRecord);
    if (request == nullptr) return;
    if (folded_.AnyIn(target.index)) {
      // The entry may be the unfolded part of a lock that must stay (invariant 5).
      const auto pass_over = [](Txn*, LockMode, LockKind) {};
      const FoldedLocks::Own own =
          folded_.LookAt(owner, target, LockMode::kExclusive, LockKind::kRecord, pass_over);
      if (own.covers || own.weaker) return;
    }
    bucket->Remove(request, &wakes);
  }
  pool_.Release(request);
}

bool LockTable::Conflicts(const Txn* txn, const LockTarget& target, LockMode mode,
                          LockKind kind) const {
  LockBucket* bucket = buckets_.Of(target);
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
  // After the queue: what its owner folds meanwhile is found here before it is gone there.
  if (kind == LockKind::kUniqueValue || !folded_.AnyOfOthers(txn, target.index)) return false;
  bool conflict = false;
  folded_.LookAt(txn, target, mode, kind, [&](Txn*, LockMode, LockKind) { conflict = true; });
  return conflict;
}

void LockTable::Unlock(Txn* txn, LockKey key, LockMode mode, LockKind kind) {
  LockBucket* bucket = buckets_.Of(key);
  LockRequest* request = nullptr;
  WakeList wakes;
  {
    ExclusiveLatchGuard guard(&bucket->latch);
    request = bucket->FindCovering(txn, key, mode, kind);
    if (request == nullptr || request->holds == UINT8_MAX) return;
    ROWAN_DCHECK(request->holds != 0 && request->owner == txn);
    if (--request->holds != 0) return;
    bucket->Remove(request, &wakes);
  }
  pool_.Release(request);
}

void LockTable::ReleaseAll(Txn* txn) {
  txn->locks.queued = nullptr;
  // First the folded locks, of which others make entries: none is added after the last is removed.
  if (txn->locks.folded != nullptr) folded_.Release(txn);
  while (LockRequest* request = txn->locks.newest.load(std::memory_order_acquire)) {
    Remove(request);
  }
  txn->locks.folded_count.store(0, std::memory_order_relaxed);
  ROWAN_DCHECK(txn->locks.waiting_for.load(std::memory_order_relaxed) == nullptr);
  ROWAN_DCHECK(txn->locks.request_count.load(std::memory_order_relaxed) == 0);
  txn->locks.fold_at = kFoldAtFirst;
  txn->rollback.required = Code::kOk;  // it is done
}

void LockTable::HandOver(Txn* from, Txn* to) {
  ROWAN_DCHECK(from != to && from->txn_id() == to->txn_id());
  ROWAN_DCHECK(to->locks.folded == nullptr && to->locks.queued == nullptr);
  if (LockRequest* stale = std::exchange(from->locks.queued, nullptr)) Remove(stale);
  // First, as in ReleaseAll: from here on no entry is made for `from`.
  if (from->locks.folded != nullptr) folded_.Release(from);
  while (LockRequest* request = from->locks.newest.load(std::memory_order_acquire)) {
    LockBucket* bucket = buckets_.Of(request->key);
    {
      const ExclusiveLatchGuard guard(&bucket->latch);
      // Two entries of one lock would be one too many for DropImplicit.
      if (bucket->FindCovering(to, request->key, request->mode, request->kind) == nullptr) {
        bucket->HandOver(request, to);
        continue;
      }
    }
    Remove(request);
  }
  ReleaseAll(from);
}

namespace {

/// Bucket latch held.
LockInfo InfoOf(const LockRequest& request) {
  LockInfo info = request.Describe();
  if (!info.granted) info.key = request.owner->locks.queued_key;
  return info;
}

}  // namespace

std::vector<LockWaitInfo> LockTable::DescribeWaits(size_t count_max) const {
  std::vector<LockWaitInfo> infos;
  for (LockBucket& bucket : buckets_) {
    if (infos.size() >= count_max) break;
    if (bucket.first.load(std::memory_order_acquire) == nullptr) continue;
    const ExclusiveLatchGuard guard(&bucket.latch);
    LockRequest* request = bucket.first.load(std::memory_order_relaxed);
    for (; request != nullptr && infos.size() < count_max; request = request->chain_next) {
      if (request->granted()) continue;
      const LockRequest* ahead = request->chain_previous;
      for (; ahead != nullptr && infos.size() < count_max; ahead = ahead->chain_previous) {
        if (ahead->Blocks(*request)) infos.push_back({InfoOf(*request), InfoOf(*ahead)});
      }
    }
  }
  return infos;
}

// Each bucket is read under its latch, one after another: the whole is not a snapshot of one
// instant.
std::vector<LockInfo> LockTable::Describe(size_t count_max) const {
  std::vector<LockInfo> infos;
  for (LockBucket& bucket : buckets_) {
    if (infos.size() >= count_max) break;
    if (bucket.first.load(std::memory_order_acquire) == nullptr) continue;
    ExclusiveLatchGuard guard(&bucket.latch);
    LockRequest* request = bucket.first.load(std::memory_order_relaxed);
    for (; request != nullptr && infos.size() < count_max; request = request->chain_next) {
      infos.push_back(InfoOf(*request));
    }
  }
  folded_.Describe(count_max, &infos);
  return infos;
}

Status LockTable::Check() const {
  if (!folded_.Check()) return Status(Code::kCorrupt, "the folded locks are in disorder");
  for (LockBucket& bucket : buckets_) {
    ExclusiveLatchGuard guard(&bucket.latch);
    LockRequest* previous = nullptr;
    LockRequest* request = bucket.first.load(std::memory_order_relaxed);
    for (; request != nullptr; previous = request, request = request->chain_next) {
      if (request->chain_previous != previous) {
        return Status(Code::kCorrupt, "a lock queue's back link is wrong");
      }
      for (LockRequest* other = request->chain_next; other != nullptr; other = other->chain_next) {
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
    if (bucket.last != previous) return Status(Code::kCorrupt, "a lock queue's end is wrong");
  }
  return Status::Ok();
}

}  // namespace rowan
