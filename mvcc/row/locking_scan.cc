// SPDX-License-Identifier: GPL-2.0-only
#include "mvcc/row/locking_scan.h"

#include <utility>

#include "mvcc/row/implicit_lock.h"
#include "mvcc/row/newer_row.h"

namespace rowan {
namespace {

/// SeekTo(key) has just latched the leaf that an insert of the key would go to (range_cover.h), and
/// the key is not there.
bool IsAbsentFromLeaf(ScanState* scan, Bytes key, const Status& positioned) {
  if (positioned.Is(Code::kNotFound)) return scan->cursor->latched();
  return positioned.ok() && !scan->index->clustered && scan->cursor->slot() > 0 &&
         !scan->AtKey(key);
}

}  // namespace

Status LockingScan::Collect(Status positioned) {
  for (;;) {
    const bool on_entry = positioned.ok();
    const bool at_end = positioned.Is(Code::kEndOfRange) || (on_entry && scan_->BehindEnd());
    if (!on_entry && !at_end) return positioned;
    if (cover_.covering()) {
      bool settled = false;
      const Status status = cover_.LockWay(on_entry, at_end, &settled);
      if (!status.ok()) return status;
      if (!settled) {
        positioned = cover_.SeekLooked();
        continue;
      }
    }
    if (at_end) {
      scan_->finished = on_entry;
      return Status(Code::kEndOfRange);
    }
    const Status status = LockCandidate(scan_->options.semi_consistent);
    if (status.ok()) {
      scan_->StandOnFirst();
      return status;
    }
    if (status.Is(Code::kLockWait)) {
      positioned = WaitAndReturn();
    } else if (status.Is(Code::kSkipped) || status.Is(Code::kNotFound)) {
      if (scan_->interrupted()) return Status(Code::kInterrupted);
      positioned = scan_->Step();
    } else {
      return status;
    }
  }
}

Status LockingScan::LockCandidate(bool semi_consistent) {
  current_is_unlocked_ = false;
  ++scan_->counts.examined_entries;
  scan_->counts.examined_bytes += scan_->cursor->value().size();
  if (scan_->index->clustered) return LockRow(semi_consistent);
  SecondaryHeader header;
  Bytes payload;
  if (!ParseSecondary(scan_->cursor->value(), &header, &payload)) {
    return scan_->Damage("an entry shorter than its header");
  }
  const Bytes plain_key = StripRepeat(scan_->cursor->key(), header.has_repeat);
  const Status status = LockEntry(MakeLockKey(scan_->index->id(), plain_key), header.creator,
                                  header.deleter, scan_->options.wait_policy);
  if (!status.ok()) return status;
  return scan_->Copy(payload, header.has_repeat);
}

Status LockingScan::LockRow(bool semi_consistent) {
  ClusteredHeader header;
  Bytes row;
  if (!ParseClustered(scan_->cursor->value(), &header, &row)) {
    return scan_->Damage("a row shorter than its header");
  }
  const LockTarget key = MakeLockKey(scan_->index->id(), scan_->cursor->key());
  const WaitPolicy policy = semi_consistent ? WaitPolicy::kSkipLocked : scan_->options.wait_policy;
  const Status status = LockEntry(key, header.txn, header.deleted ? header.txn : kNoTxn, policy);
  if (semi_consistent && status.Is(Code::kSkipped)) return CopyCommitted(header, row);
  if (!status.ok()) return status;
  return scan_->Copy(row, false);
}

Status LockingScan::CopyCommitted(const ClusteredHeader& header, Bytes row) {
  // The leaf latch keeps the undo of writers that are still active, the snapshot that of those that
  // commit meanwhile (version_chain.h).
  ROWAN_DCHECK(scan_->txn->snapshot.active());
  scan_->versions.Start(header, row);
  while (scan_->versions.header().txn != scan_->txn->txn_id() &&
         scan_->manager->IsActive(scan_->versions.header().txn)) {
    const Status status = scan_->versions.StepBack();
    if (!status.ok()) return status;  // kNotFound: nobody has committed this row yet
  }
  if (scan_->versions.header().deleted) return Status(Code::kNotFound);
  current_is_unlocked_ = true;
  return scan_->Copy(scan_->versions.row(), false);
}

Status LockingScan::LockEntry(const LockTarget& target, TxnId creator, TxnId deleter,
                              WaitPolicy policy) {
  if (current_lock_ != target) current_lock_asks_ = 0;
  current_lock_ = target;
  const Status status = TryEntry(target, creator, deleter, policy);
  if (status.Is(Code::kSkipped) && cover_.covering()) cover_.NoteCovered(target.key);
  if (!status.Is(Code::kLockWait)) return status;
  ++current_lock_asks_;  // a queued request that is granted later counts as one, too
  if (cover_.covering()) {
    // Nothing may come in behind us while we sleep.
    const Status covered_status = cover_.LockGapBefore(target.key);
    if (!covered_status.ok()) return covered_status;
  }
  return status;
}

Status LockingScan::TryEntry(const LockTarget& target, TxnId creator, TxnId deleter,
                             WaitPolicy policy) {
  const LockMode mode = scan_->lock_mode();
  Status status = LockImplicit(scan_->manager, scan_->txn, creator, target, mode, policy);
  if (!status.ok()) return status;
  status = LockImplicit(scan_->manager, scan_->txn, deleter, target, mode, policy);
  if (!status.ok()) return status;
  if (deleter != kNoTxn) {
    // A row does not say who made it.
    status = scan_->index->clustered
                 ? CheckNotNewer(*scan_->manager, scan_->txn, deleter)
                 : CheckGoneNotNewer(scan_->manager, scan_->txn, creator, deleter);
    if (!status.ok()) return status;
    return PassDead(target.key);
  }
  const bool own = scan_->txn->is_writer() && creator == scan_->txn->txn_id();
  if (cover_.covering()) {
    status = cover_.LockEntry(target, own, policy);
  } else if (!own) {
    status = scan_->manager->locks()->TryLock(scan_->txn, target, mode, LockKind::kRecord, policy);
    if (status.ok()) ++current_lock_asks_;
  }
  if (!status.ok()) return status;
  return CheckNotNewer(*scan_->manager, scan_->txn, creator);
}

Status LockingScan::PassDead(Bytes key) {
  // A lock that we waited for is of no use at READ COMMITTED.
  if (scan_->txn->isolation <= IsolationLevel::kReadCommitted) UnlockCurrent();
  if (cover_.covering()) {
    const Status status = cover_.LockDead(key);
    if (!status.ok()) return status;
  }
  return Status(Code::kNotFound);
}

void LockingScan::UnlockCurrent() {
  for (; current_lock_asks_ > 0; --current_lock_asks_) {
    scan_->manager->locks()->Unlock(scan_->txn, current_lock_, scan_->lock_mode(),
                                    LockKind::kRecord);
  }
}

Status LockingScan::WaitAndReturn() {
  const Bytes tree_key = scan_->cursor->key();
  scan_->seek_key.assign(tree_key.begin(), tree_key.end());
  scan_->cursor->Unlatch();
  const Status status = scan_->manager->locks()->Wait(scan_->txn);
  if (!status.ok()) {
    current_lock_asks_ = 0;
    return status;
  }
  if (cover_.covering()) return cover_.SeekLooked();
  const Status positioned = scan_->SeekAgain();
  const bool is_there = positioned.ok() && EqualBytes(scan_->cursor->key(), scan_->seek_key);
  // Purged meanwhile, or rolled back: of no use, as in PassDead.
  if (!is_there && scan_->txn->isolation <= IsolationLevel::kReadCommitted) UnlockCurrent();
  return positioned;
}

Status LockingScan::CollectLocked(Status positioned) {
  const bool semi_consistent = std::exchange(scan_->options.semi_consistent, false);
  const Status status = Collect(positioned);
  scan_->options.semi_consistent = semi_consistent;
  return status;
}

Status LockingScan::Get(Bytes key, Status positioned) {
  if (scan_->options.lock_gaps && IsAbsentFromLeaf(scan_, key, positioned)) {
    const Status status = cover_.LockAbsent(key);
    if (!status.ok()) return status;
    return Status(Code::kNotFound);
  }
  const Status found = GetExisting(key, positioned);
  if (!scan_->options.lock_gaps) return found;
  if (!found.Is(Code::kNotFound) && !found.Is(Code::kEndOfRange)) return found;
  if (scan_->cursor->latched()) scan_->cursor->Unlatch();
  const Status status = cover_.LockAbsent(key);
  if (!status.ok()) return status;
  // What came in before the key was locked.
  return GetExisting(key, scan_->SeekTo(key));
}

Status LockingScan::GetExisting(Bytes key, Status positioned) {
  // Entries of one secondary key stand side by side, at most one of them live.
  while (positioned.ok() && scan_->AtKey(key)) {
    const Status status = LockCandidate(false);
    if (status.Is(Code::kLockWait)) {
      positioned = WaitAndReturn();
      continue;
    }
    if (!status.ok() && !status.Is(Code::kNotFound)) return status;
    scan_->cursor->Unlatch();
    if (!scan_->items.empty()) {
      scan_->StandOnFirst();
      return Status::Ok();
    }
    if (scan_->index->clustered) return Status(Code::kNotFound);
    positioned = scan_->cursor->Next();
  }
  return positioned.ok() ? Status(Code::kNotFound) : positioned;
}

}  // namespace rowan
