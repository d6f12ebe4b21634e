// SPDX-License-Identifier: GPL-2.0-only
// Locking reads: row by row, always the newest version. The lock is asked for under the leaf latch;
// when it is granted at once the row is what it locks. When we have to sleep, the latch is given
// back and the walk comes back to the same key afterwards and looks again (the lock is ours by
// then, unless the entry is gone or dead, which leaves a harmless lock on its key).
//
// What is ours already (the last writer is this transaction) needs no entry in the lock table.
#include "mvcc/row/row_write_support.h"
#include "mvcc/row/version_cursor_impl.h"

namespace rowan {

Status VersionCursor::Impl::LockFrom(Status positioned) {
  for (;;) {
    const bool on_entry = positioned.ok();
    const bool at_end = positioned.Is(Code::kEndOfRange) || (on_entry && BehindEnd());
    if (!on_entry && !at_end) return positioned;
    if (covering) {
      bool settled = false;
      const Status status = CoverWay(on_entry, at_end, &settled);
      if (!status.ok()) return status;
      if (!settled) {
        positioned = SeekLooked();
        continue;
      }
    }
    if (at_end) {
      finished = on_entry;
      return Status(Code::kEndOfRange);
    }
    const Status status = LockCandidate(options.semi_consistent);
    if (status.ok()) {
      position = 0;
      place = Place::kOnItem;
      return status;
    }
    if (status.Is(Code::kLockWait)) {
      positioned = WaitAndReturn();
    } else if (status.Is(Code::kSkipped) || status.Is(Code::kNotFound)) {
      if (interrupted()) return Status(Code::kInterrupted);
      positioned = forward ? cursor->Next() : cursor->Prev();
    } else {
      return status;
    }
  }
}

Status VersionCursor::Impl::LockCandidate(bool semi_consistent) {
  current_is_unlocked = false;
  if (index->clustered) return LockRow(semi_consistent);
  SecondaryHeader header;
  Bytes payload;
  if (!ParseSecondary(cursor->value(), &header, &payload)) {
    return Damage("an entry shorter than its header");
  }
  const Bytes plain_key = StripOrdinal(cursor->key(), header.has_ordinal);
  const Status status = Ask(MakeLockKey(index->id(), plain_key), header.creator, header.deleter,
                            options.wait_policy);
  if (!status.ok()) return status;
  Copy(payload, header.has_ordinal);
  return Status::Ok();
}

Status VersionCursor::Impl::LockRow(bool semi_consistent) {
  ClusteredHeader header;
  Bytes row;
  if (!ParseClustered(cursor->value(), &header, &row)) {
    return Damage("a row shorter than its header");
  }
  const LockTarget key = MakeLockKey(index->id(), cursor->key());
  const WaitPolicy policy = semi_consistent ? WaitPolicy::kSkipLocked : options.wait_policy;
  const Status status = Ask(key, header.txn, header.deleted ? header.txn : kNoTxn, policy);
  if (semi_consistent && status.Is(Code::kSkipped)) return CopyCommitted(header, row);
  if (!status.ok()) return status;
  Copy(row, false);
  return Status::Ok();
}

Status VersionCursor::Impl::CopyCommitted(const ClusteredHeader& header, Bytes row) {
  // The leaf latch keeps the undo of writers that are still active (row_versions.h).
  versions.Start(header, row);
  while (versions.header().txn != txn->txn_id() && manager->IsActive(versions.header().txn)) {
    const Status status = versions.StepBack();
    if (!status.ok()) return status;  // kNotFound: nobody has committed this row yet
  }
  if (versions.header().deleted) return Status(Code::kNotFound);
  Copy(versions.row(), false);
  current_is_unlocked = true;
  return Status::Ok();
}

Status VersionCursor::Impl::Ask(const LockTarget& target, TxnId creator, TxnId deleter,
                                WaitPolicy policy) {
  if (current_lock != target) current_lock_asks = 0;
  current_lock = target;
  const Status status = AskAll(target, creator, deleter, policy);
  if (status.Is(Code::kSkipped) && covering) NoteCovered(target.key);
  if (!status.Is(Code::kLockWait)) return status;
  ++current_lock_asks;  // a queued request that is granted later counts as one, too
  if (covering) {
    // Nothing may come in behind us while we sleep.
    const Status covered_status = CoverGapBefore(target.key);
    if (!covered_status.ok()) return covered_status;
  }
  return status;
}

Status VersionCursor::Impl::AskAll(const LockTarget& target, TxnId creator, TxnId deleter,
                                   WaitPolicy policy) {
  const LockMode mode = lock_mode();
  Status status = AskHolder(manager, txn, creator, target, mode, policy);
  if (!status.ok()) return status;
  status = AskHolder(manager, txn, deleter, target, mode, policy);
  if (!status.ok()) return status;
  if (deleter != kNoTxn) return PassDead(target.key);
  const bool own = txn->is_writer() && creator == txn->txn_id();
  if (covering) return LockCovered(target, own, policy);
  if (own) return Status::Ok();
  status = manager->locks()->TryLock(txn, target, mode, LockKind::kRecord, policy);
  if (!status.ok()) return status;
  ++current_lock_asks;
  return Status::Ok();
}

Status VersionCursor::Impl::PassDead(Bytes key) {
  // A lock that we waited for is of no use at READ COMMITTED.
  if (txn->isolation <= IsolationLevel::kReadCommitted) GiveBackCurrentLock();
  if (covering) {
    const Status status = CoverDead(key);
    if (!status.ok()) return status;
  }
  return Status(Code::kNotFound);
}

void VersionCursor::Impl::GiveBackCurrentLock() {
  for (; current_lock_asks > 0; --current_lock_asks) {
    manager->locks()->Unlock(txn, current_lock, lock_mode(), LockKind::kRecord);
  }
}

Status VersionCursor::Impl::WaitAndReturn() {
  const Bytes tree_key = cursor->key();
  seek_key.assign(tree_key.begin(), tree_key.end());
  cursor->Unlatch();
  const Status status = manager->locks()->Wait(txn);
  if (!status.ok()) {
    current_lock_asks = 0;
    return status;
  }
  return covering ? SeekLooked() : SeekAgain();
}

Status VersionCursor::Impl::SeekAgain() {
  if (forward) return cursor->SeekAtLeast(seek_key);
  seek_key.push_back(std::byte{0});  // the last entry not behind it
  return cursor->SeekBefore(seek_key);
}

}  // namespace rowan
