// SPDX-License-Identifier: GPL-2.0-only
#include "mvcc/row/garbage.h"

#include "btree/node.h"
#include "mvcc/row/row_header.h"

namespace rowan {
namespace {

void FindSettledCreators(void* txn_manager, const NodeView& leaf, SlotRuns* runs) {
  const auto& manager = *static_cast<const TxnManager*>(txn_manager);
  const TxnId seen_below = manager.VisibleToAll();
  // Neighbours are often of one transaction; of a large one whole leaves.
  TxnId last;
  bool last_is_seen = false;
  const size_t count = leaf.count();
  for (size_t slot = 0; slot < count; ++slot) {
    const TxnId creator = CreatorOf(leaf.Value(slot));
    if (creator == kNoTxn) continue;
    if (creator >= seen_below) {
      if (creator != last) last_is_seen = IsSeenByAll(manager, creator);
      last = creator;
      if (!last_is_seen) continue;
    }
    if (runs->empty() || size_t{runs->back().first} + runs->back().count != slot) {
      runs->push_back({static_cast<uint16_t>(slot), 0});
    }
    ++runs->back().count;
  }
}

}  // namespace

constexpr ValueShortener kCreatorShortener{FindSettledCreators, kCreatorCut};

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
