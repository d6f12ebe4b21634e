// SPDX-License-Identifier: GPL-2.0-only
#include "mvcc/row/garbage.h"

#include "mvcc/row/row_header.h"

namespace rowan {

bool IsSeenByAll(const TxnManager& manager, TxnId writer) {
  if (writer == kNoTxn) return true;
  return manager.IsSeenByAll(writer);
}

bool IsDecidedAbove(TxnId stamp, const TxnManager& manager, bool clustered, Bytes value) {
  const auto settled = [&](TxnId writer) {
    return writer <= stamp || IsSeenByAll(manager, writer);
  };
  Bytes rest;
  if (clustered) {
    ClusteredHeader row;
    return !ParseClustered(value, &row, &rest) || settled(row.txn);
  }
  SecondaryHeader entry;
  return !ParseSecondary(value, &entry, &rest) ||
         (settled(entry.creator) && settled(entry.deleter));
}

bool IsGarbageRow(void* txn_manager, Bytes /*key*/, Bytes value) {
  ClusteredHeader header;
  Bytes row;
  if (!ParseClustered(value, &header, &row) || !header.deleted) return false;
  return IsSeenByAll(*static_cast<TxnManager*>(txn_manager), header.txn);
}

bool IsGarbageEntry(void* txn_manager, Bytes /*key*/, Bytes value) {
  SecondaryHeader header;
  Bytes payload;
  if (!ParseSecondary(value, &header, &payload) || header.deleter == kNoTxn) return false;
  return IsSeenByAll(*static_cast<TxnManager*>(txn_manager), header.deleter);
}

}  // namespace rowan
