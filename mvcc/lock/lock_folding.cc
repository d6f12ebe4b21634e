// SPDX-License-Identifier: GPL-2.0-only
#include "mvcc/lock/lock_folding.h"

#include "base/assertions.h"
#include "mvcc/txn/txn.h"

namespace rowan {
namespace {

/// The newest locks keep their entries: a READ COMMITTED statement may still unlock their rows, one
/// for each table of a join and some more.
constexpr uint32_t kNewestKept = 64;
/// A transaction with fewer locks is never refused, so one with very many does not starve the
/// others. 512 KiB of entries at most.
constexpr uint64_t kNeverRefused = 8192;

void CountFolded(Txn* txn, uint64_t records) {
  const uint64_t before = txn->locks.folded_count.load(std::memory_order_relaxed);
  txn->locks.folded_count.store(before + records, std::memory_order_relaxed);
}

}  // namespace

bool LockFolding::IsFullFor(const Txn* txn) const {
  if (memory_bytes() < memory_bytes_max_.load(std::memory_order_relaxed)) return false;
  return txn->locks.count() >= kNeverRefused;
}

Status LockFolding::FoldOld(Txn* txn) {
  if (txn->locks.request_count.load(std::memory_order_relaxed) < txn->locks.fold_at)
    return Status::Ok();
  if (IsFullFor(txn)) return Status(Code::kLockTableFull);
  // Others only push in front, so after its head the list is the owner's alone.
  LockRequest* before = txn->locks.newest.load(std::memory_order_acquire);
  for (uint32_t i = 1; i < kNewestKept && before != nullptr; ++i) before = before->txn_next;
  while (before != nullptr && before->txn_next != nullptr) {
    if (!FoldBehind(before)) before = before->txn_next;
  }
  txn->locks.fold_at = txn->locks.request_count.load(std::memory_order_relaxed) + kFoldAtFirst;
  return Status::Ok();
}

bool LockFolding::FoldBehind(LockRequest* before) {
  LockRequest* request = before->txn_next;
  ROWAN_DCHECK(request->owner == before->owner);
  if (request->kind != LockKind::kRecord) return false;
  LockBucket* bucket = buckets_->Of(request->key);
  {
    const ExclusiveLatchGuard guard(&bucket->latch);
    if (!request->granted() || bucket->FirstWaiting(request->key) != nullptr) return false;
    folded_->AddRecord(request->owner, request->key, request->mode);
    bucket->Unlink(request);
  }
  before->txn_next = request->txn_next;
  request->owner->locks.request_count.fetch_sub(1, std::memory_order_relaxed);
  CountFolded(request->owner, 1);
  pool_->Release(request);
  return true;
}

Status LockFolding::Cover(Txn* txn, IndexId index, LockMode mode, const RangePiece& piece,
                          uint64_t records) {
  ROWAN_DCHECK(piece.unbounded || CompareBytes(piece.low, piece.high) <= 0);
  if (records != 0) CountFolded(txn, records);
  const bool covered = folded_->Cover(txn, index, mode, piece, !IsFullFor(txn));
  return covered ? Status::Ok() : Status(Code::kLockTableFull);
}

}  // namespace rowan
