// SPDX-License-Identifier: GPL-2.0-only
#include "mvcc/row/implicit_lock.h"

namespace rowan {

Status LockImplicit(TxnManager* manager, Txn* txn, TxnId holder, const LockTarget& key,
                    LockMode mode, WaitPolicy policy) {
  if (holder == kNoTxn || holder == txn->txn_id() || holder < manager->VisibleToAll()) {
    return Status::Ok();
  }
  // Behind a writer that stays open nearly all rows come here, and nearly all of their writers are
  // through: this asks the ring only, and no registry under a mutex.
  if (!manager->IsActive(holder)) return Status::Ok();
  if (policy != WaitPolicy::kWait) {
    return Status(policy == WaitPolicy::kSkipLocked ? Code::kSkipped : Code::kLockNotAvailable);
  }
  LockTable* locks = manager->locks();
  const LockKey id = key;
  const bool active =
      manager->WithActive(holder, [locks, id](Txn* owner) { locks->AddImplicit(owner, id); });
  if (!active) return Status::Ok();
  const Status status = locks->TryLock(txn, key, mode, LockKind::kRecord, policy);
  // Granted although the holder has it: only if it ended in between, or if two keys share a hash
  // and we hold the other one; then waiting is impossible.
  if (!status.ok() || !manager->IsActive(holder)) return status;
  txn->rollback.required = Code::kDeadlock;
  return Status(Code::kDeadlock);
}

Status LockExplicit(TxnManager* manager, Txn* txn, const LockTarget& key) {
  LockTable* locks = manager->locks();
  if (!locks->Conflicts(txn, key, LockMode::kExclusive, LockKind::kRecord)) return Status::Ok();
  return locks->TryLock(txn, key, LockMode::kExclusive, LockKind::kRecord, WaitPolicy::kWait);
}

Status LockInsert(TxnManager* manager, Txn* txn, const LockTarget& key) {
  LockTable* locks = manager->locks();
  if (locks->MayHoldGaps(txn, key.index)) {
    const Status status = locks->TryLock(txn, key, LockMode::kExclusive, LockKind::kInsertIntention,
                                         WaitPolicy::kWait);
    if (!status.ok()) return status;
  }
  return LockExplicit(manager, txn, key);
}

Status NoteDuplicate(TxnManager* manager, Txn* txn, IndexId index, Bytes key) {
  if (txn->serial != nullptr) {
    const Status noted = manager->serial()->NoteKey(txn, index, key);
    if (!noted.ok()) return noted;
  }
  return Status(Code::kDuplicate);
}

}  // namespace rowan
