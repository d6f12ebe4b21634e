// SPDX-License-Identifier: GPL-2.0-only
// Logged changes of nodes: each function writes the redo record and applies the change by the same
// function of node_edit.h that redo calls (btree_redo.cc decodes what is written here).
//
// Record bodies (v = varint):
//   kNodeInit      index u64, level u8
//   kNodeInsert    slot v, stamp v, suffix length v, suffix, value
//   kNodeUpdate    slot v, stamp v, bytes kept in front v, bytes kept at the end v, middle
//   kNodeRemove    slot v
//   kNodeLoad      index u64, flags u16, node header and slots, heap (initialises the page)
//   kNodeTruncate  entries kept v, right link v, flags v, prefix length v, fence bytes
//   kNodeCompact   number of slots v, then each slot minus the one before v: removes them
//   kNodeShorten   flags u8, offset u8, bytes u8 of the cut, number of runs v, then for each the
//                  entries passed over v and its entries v
// Thread safety: the mini-transaction's thread, which holds the pages.
#pragma once

#include <span>

#include "base/bytes.h"
#include "base/ids.h"
#include "btree/node.h"
#include "btree/node_edit.h"
#include "buffer/mini_txn.h"

namespace rowan {

inline Bytes PageBytesOf(const MiniTxn& mini_txn, const MutablePage& page) {
  return {page.bytes, mini_txn.pool()->page_size_bytes()};
}
inline NodeView ViewOf(const MiniTxn& mini_txn, const MutablePage& page) {
  return NodeView(PageBytesOf(mini_txn, page));
}

/// `page` comes from FixNew.
void LogInitNode(MiniTxn* mini_txn, const MutablePage& page, IndexId index, uint8_t level);
/// REQUIRES: NodeHasRoom.
void LogInsertEntry(MiniTxn* mini_txn, const MutablePage& page, size_t slot, Bytes suffix,
                    Bytes value, TxnId stamp);
/// REQUIRES: NodeHasRoomToReplace.
void LogReplaceValue(MiniTxn* mini_txn, const MutablePage& page, size_t slot, Bytes value,
                     TxnId stamp);
void LogRemoveEntry(MiniTxn* mini_txn, const MutablePage& page, size_t slot);
void LogRemoveEntries(MiniTxn* mini_txn, const MutablePage& page, std::span<const uint16_t> slots);
/// False: a value is too short for the cut, or the page is damaged; nothing was changed or logged.
[[nodiscard]] bool LogShortenValues(MiniTxn* mini_txn, const MutablePage& page,
                                    std::span<const SlotRun> runs, const ValueCut& cut);
/// Gives the page the content of `image` (a whole page made by NodeBuilder for this page id).
void LogLoadNode(MiniTxn* mini_txn, const MutablePage& page, Bytes image);
/// REQUIRES: the node fits with these bounds (FitsAfterSplit).
void LogReboundNode(MiniTxn* mini_txn, const MutablePage& page, size_t keep,
                    const NodeBounds& bounds);

/// Upper bounds of record bodies, for MiniTxn::Start.
inline constexpr uint32_t kNodeRecordOverheadBytes = 64;
[[nodiscard]] inline uint32_t LoadRecordBytesMax(uint32_t page_size_bytes) {
  return page_size_bytes + kNodeRecordOverheadBytes;
}

}  // namespace rowan
