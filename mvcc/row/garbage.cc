// SPDX-License-Identifier: GPL-2.0-only
#include "mvcc/row/garbage.h"

#include "mvcc/row/row_header.h"

namespace rowan {

bool IsSeenByAll(const TxnManager& manager, TxnId writer) {
  if (writer == kNoTxn) return true;
  return manager.IsSeenByAll(writer);
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
