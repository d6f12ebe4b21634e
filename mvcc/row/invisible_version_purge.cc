// SPDX-License-Identifier: GPL-2.0-only
#include "mvcc/row/invisible_version_purge.h"

#include <algorithm>

#include "mvcc/row/garbage.h"
#include "mvcc/row/row_undo_format.h"
#include "mvcc/undo/undo_damage.h"

namespace rowan {
namespace {

/// Versions of one row looked at before it is left to purge.
constexpr int kVersionsMax = 16;

}  // namespace

Status InvisibleVersionPurge::Purge(TxnId txn, Csn csn, const UndoRecordCopy& record,
                                    const OldSnapshots& old) {
  if (record.type != UndoType::kClusteredUpdate && record.type != UndoType::kSecondaryDelete) {
    return Status::Ok();
  }
  OldSnapshots blind;  // to the deletion
  for (size_t i = 0; i < old.count; ++i) {
    if (old.open[i].csn <= csn) blind.open[blind.count++] = old.open[i];
  }
  if (record.type == UndoType::kClusteredUpdate) return PurgeRow(txn, record, &blind);
  return purge_->PurgeEntryIf(txn, record, [&](TxnId creator) {
    OldSnapshots left = blind;
    return !IsSeenByAll(*manager_, creator) && !RemoveSeeing(creator, &left);
  });
}

Status InvisibleVersionPurge::PurgeRow(TxnId txn, const UndoRecordCopy& record,
                                       OldSnapshots* blind) {
  RowUpdateUndo update;
  if (!DecodeRowUpdate(record.payload, &update)) {
    return ReportDamagedRecord(manager_->undo()->pool(), record);
  }
  if ((update.flags & kUndoRowDelete) == 0) return Status::Ok();
  const Result<bool> unseen = IsUnseen(update.old_header, blind);
  if (!unseen.ok()) return unseen.status();
  WorkBudget row(UINT64_MAX);
  return unseen.value() ? purge_->Purge(txn, record, &row) : Status::Ok();
}

/// Whether each of the snapshots sees no row when `version` is the newest that it might see.
Result<bool> InvisibleVersionPurge::IsUnseen(ClusteredHeader version, OldSnapshots* blind) {
  UndoRecordCopy record;
  for (int looked_at = 0; looked_at < kVersionsMax; ++looked_at) {
    if (IsSeenByAll(*manager_, version.txn)) return version.deleted;
    if (RemoveSeeing(version.txn, blind) && !version.deleted) return false;
    if (blind->count == 0 || version.undo.IsNone()) return true;
    const Status status = manager_->undo()->Read(version.undo, &record);
    if (!status.ok()) return status;
    RowUpdateUndo update;
    if (record.type != UndoType::kClusteredUpdate || !DecodeRowUpdate(record.payload, &update)) {
      return ReportDamagedRecord(manager_->undo()->pool(), record);
    }
    version = update.old_header;
  }
  return false;
}

/// Leaves the snapshots that do not see what `writer` did; false if all are left.
bool InvisibleVersionPurge::RemoveSeeing(TxnId writer, OldSnapshots* blind) const {
  const auto begin = blind->open.begin();
  const auto end = std::remove_if(begin, begin + blind->count, [&](const Snapshot& snapshot) {
    return manager_->IsVisible(snapshot, writer, kNoTxn);
  });
  const size_t before = blind->count;
  blind->count = static_cast<size_t>(end - begin);
  return blind->count != before;
}

}  // namespace rowan
