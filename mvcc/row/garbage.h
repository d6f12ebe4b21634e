// SPDX-License-Identifier: GPL-2.0-only
// What no snapshot can see, now or later: the rule by which writers clean leaves and rollback
// removes what purge may have passed already. Thread safety: all functions.
#pragma once

#include "base/bytes.h"
#include "base/ids.h"
#include "btree/value_cut.h"
#include "mvcc/txn_manager.h"

namespace rowan {

/// True when every snapshot, present or future, sees what committed transaction `writer` did; its
/// undo may be purged already. Exact with respect to purge: when this is false, purge has yet to
/// process what `writer` deleted, and will. False for active transactions.
bool IsSeenByAll(const TxnManager& manager, TxnId writer);

/// Of an entry of a clustered index (or a secondary one): every snapshot whose low_txn is above
/// `stamp` sees what its delete mark says. True for bytes that are no entry.
bool IsDecidedAbove(TxnId stamp, const TxnManager& manager, bool clustered, Bytes value);

/// LeafCleaner's rules for values of a secondary index (context = TxnManager): an entry needs no
/// creator once every snapshot sees what that transaction did.
extern const ValueShortener kCreatorShortener;

/// LeafCleaner rules (context = TxnManager): rows and entries that no snapshot can see.
bool IsGarbageRow(void* txn_manager, Bytes key, Bytes value);
bool IsGarbageEntry(void* txn_manager, Bytes key, Bytes value);

}  // namespace rowan
