// SPDX-License-Identifier: GPL-2.0-only
// UndoTail: the part of the undo log that one transaction has written. It is the end of a stream,
// so it grows and shrinks at one end only. UndoStreams gives and takes the stream, UndoLog and
// UndoRecovery change the rest.
//
// Invariants: without a stream there is no header, and without a header there are no records.
// Thread safety: the transaction's thread; others read `records`, through std::atomic_ref.
#pragma once

#include <cstdint>

#include "mvcc/txn/changed_indexes.h"
#include "mvcc/txn/undo_pointer.h"

namespace rowan {

struct UndoStream;

/// A place in a transaction's undo: rolling back to it undoes everything later.
struct UndoPosition {
  uint64_t records = 0;  ///< how many undo records came before
};

struct UndoTail {
  UndoStream* stream = nullptr;  ///< the transaction's alone from its first write to its end
  UndoPointer header;            ///< where the transaction begins; none: it has written nothing
  uint64_t records = 0;          ///< after the header
  uint64_t bytes = 0;            ///< of these, as far as known after a restart
  ChangedIndexes indexes;        ///< to which the records belong

  [[nodiscard]] bool empty() const { return header.IsNone(); }
  /// For the next transaction, which takes over the memory of `indexes`.
  void Clear() {
    stream = nullptr;
    header = {};
    records = bytes = 0;
    indexes.Clear();
  }
};

}  // namespace rowan
