// SPDX-License-Identifier: GPL-2.0-only
// Rows newer than a transaction's snapshot, where Txn::refuses_newer_rows is set: locking or
// writing one would act on a state that the snapshot does not show, and undo concurrent changes
// without having seen them. So it fails with kDeadlock, and the transaction can only be rolled
// back, so that its retry has a fresh snapshot: the first to commit wins. What was locked before
// the snapshot was taken cannot be newer. Thread safety: the transaction's thread.
#pragma once

#include "base/ids.h"
#include "base/status.h"
#include "mvcc/txn/txn.h"
#include "mvcc/txn_manager.h"

namespace rowan {

/// True if it matters that `writer`, which is not active unless it is `txn` itself, is not in the
/// snapshot. kNoTxn is in every snapshot.
inline bool IsNewerRow(const TxnManager& manager, const Txn& txn, TxnId writer) {
  return txn.refuses_newer_rows && txn.snapshot.active() && writer != kNoTxn &&
         !manager.IsVisible(txn.snapshot, writer, txn.txn_id());
}

/// The error in that case.
inline Status RefuseNewerRow(Txn* txn) {
  txn->rollback.required = Code::kDeadlock;
  return Status(Code::kDeadlock, "the row was changed after the transaction's snapshot was taken");
}

/// For a row that is now locked and whose last change `writer` made.
inline Status CheckNotNewer(const TxnManager& manager, Txn* txn, TxnId writer) {
  return IsNewerRow(manager, *txn, writer) ? RefuseNewerRow(txn) : Status::Ok();
}

/// For a locked entry that is marked as deleted: a snapshot after which it came and went need not
/// know it, but an optimistic transaction that found nothing has to know the entry that was there.
inline Status CheckGoneNotNewer(TxnManager* manager, Txn* txn, TxnId creator, TxnId deleter) {
  if (!IsNewerRow(*manager, *txn, creator)) return CheckNotNewer(*manager, txn, deleter);
  if (txn->serial == nullptr) return Status::Ok();
  const Status noted = manager->serial()->NoteWriter(txn, creator);
  if (!noted.ok()) return noted;
  return manager->serial()->NoteWriter(txn, deleter);
}

}  // namespace rowan
