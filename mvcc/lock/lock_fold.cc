// SPDX-License-Identifier: GPL-2.0-only
// Locks without entries: the ranges of scans, and the older record locks of a transaction that has
// many. A record is folded under the latch of its bucket while nobody waits for it, so whoever asks
// for it finds it in one of the two places.
#include <utility>

#include "base/assertions.h"
#include "mvcc/lock/lock_table_impl.h"

namespace rowan {
namespace {

/// The newest locks keep their entries: those of rows that a READ COMMITTED statement may still
/// give back, one for each table of a join and some more.
constexpr uint32_t kNewestKept = 64;
/// A transaction with fewer locks is never refused, so that one with very many takes nobody else's
/// locks away. 512 KiB of entries at most.
constexpr uint64_t kNeverRefused = 8192;

void CountFolded(Txn* txn, uint64_t records) {
  const uint64_t before = txn->folded_locks.load(std::memory_order_relaxed);
  txn->folded_locks.store(before + records, std::memory_order_relaxed);
}

}  // namespace

bool LockTableImpl::IsFullFor(const Txn* txn) const {
  if (pool.memory_bytes() + folded.memory_bytes() <
      memory_bytes_max.load(std::memory_order_relaxed)) {
    return false;
  }
  return txn->lock_count.load(std::memory_order_relaxed) +
             txn->folded_locks.load(std::memory_order_relaxed) >=
         kNeverRefused;
}

Status LockTableImpl::Prepare(Txn* txn) {
  // A caller that started over instead of waiting.
  if (LockRequest* stale = std::exchange(txn->queued, nullptr)) Remove(stale);
  if (txn->lock_count.load(std::memory_order_relaxed) < txn->fold_at) return Status::Ok();
  return FoldOldLocks(txn);
}

Status LockTableImpl::FoldOldLocks(Txn* txn) {
  if (IsFullFor(txn)) return Status(Code::kLockTableFull);
  // Others only push in front, so behind the head the list is the owner's alone.
  LockRequest* before = txn->locks.load(std::memory_order_acquire);
  for (uint32_t i = 1; i < kNewestKept && before != nullptr; ++i) before = before->txn_next;
  while (before != nullptr && before->txn_next != nullptr) {
    if (!FoldBehind(before)) before = before->txn_next;
  }
  txn->fold_at = txn->lock_count.load(std::memory_order_relaxed) + kFoldAtFirst;
  return Status::Ok();
}

bool LockTableImpl::FoldBehind(LockRequest* before) {
  LockRequest* request = before->txn_next;
  if (request->kind != LockKind::kRecord) return false;
  LockBucket* bucket = BucketOf(request->key);
  {
    const ExclusiveLatchGuard guard(&bucket->latch);
    if (!request->granted() || FirstWaiting(bucket, request->key, false) != nullptr) return false;
    folded.AddRecord(request->owner, request->key, request->mode);
    Unlink(bucket, request);
  }
  before->txn_next = request->txn_next;
  request->owner->lock_count.fetch_sub(1, std::memory_order_relaxed);
  CountFolded(request->owner, 1);
  pool.Return(request);
  return true;
}

Status LockTableImpl::Cover(Txn* txn, IndexId index, LockMode mode, const RangePiece& piece) {
  const bool covered = folded.Cover(txn, index, mode, piece, !IsFullFor(txn));
  return covered ? Status::Ok() : Status(Code::kLockTableFull);
}

Status LockTable::LockScanned(Txn* txn, const LockTarget& target, LockMode mode, WaitPolicy policy,
                              const RangePiece& piece) {
  Status status = impl_->Prepare(txn);
  if (!status.ok()) return status;
  LockBucket* bucket = impl_->BucketOf(target);
  const ExclusiveLatchGuard guard(&bucket->latch);
  // Our own ranges need no look: whatever they hold of the record joins the piece.
  if (bucket->first.load(std::memory_order_relaxed) != nullptr ||
      impl_->folded.AnyOfOthers(txn, target.index)) {
    bool covered = false;
    const LockAsked asked{txn, target, mode, LockKind::kRecord, policy};
    status = impl_->AskQueue(bucket, asked, &covered);
    if (!status.ok()) return status;
    // An upgrade passes requests that wait already: they are granted by what their queue shows.
    if (!covered && LockTableImpl::FirstWaiting(bucket, target, false) != nullptr) {
      LockRequest* request = impl_->NewRequest(txn, target, mode, LockKind::kRecord, true);
      request->holds = UINT8_MAX;
      LockTableImpl::AddGranted(bucket, request);
    }
  }
  CountFolded(txn, 1);
  return impl_->Cover(txn, target.index, mode, piece);
}

Status LockTable::LockGap(Txn* txn, IndexId index, LockMode mode, const RangePiece& piece) {
  return impl_->Cover(txn, index, mode, piece);
}

bool LockTable::MayHoldGaps(const Txn* txn, IndexId index) const {
  return impl_->folded.AnyOfOthers(txn, index);
}

void LockTable::SetMemoryMax(uint64_t memory_bytes_max) {
  impl_->memory_bytes_max.store(memory_bytes_max, std::memory_order_relaxed);
}

}  // namespace rowan
