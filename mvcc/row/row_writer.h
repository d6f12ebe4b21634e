// SPDX-License-Identifier: GPL-2.0-only
// RowWriter: writes clustered rows. Each function is one logical change of one tree, done as one
// log group that holds the row's change and its undo record. It finds row-lock conflicts under the
// leaf latch, releases the latch, waits, and starts over. Keys and rows are opaque bytes. A
// statement changes the clustered row first: its lock, the row's transaction id, orders all changes
// of the row's secondary entries (entry_writer.h).
// Errors common to all: kLockTimeout, kDeadlock, kInterrupted, kStopped, kIoError, kCorrupt,
// kNoSpace, kTooBig, kLockTableFull. Thread safety: one Txn per thread; any number of threads per
// index.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/status.h"
#include "mvcc/lock/lock_key.h"
#include "mvcc/lock/lock_mode.h"
#include "mvcc/row/index.h"
#include "mvcc/row/left_leaves.h"
#include "mvcc/row/row_header.h"
#include "mvcc/txn/txn.h"
#include "mvcc/txn_manager.h"
#include "space/blob_store.h"

namespace rowan {

struct RowChange;

class RowWriter {
 public:
  explicit RowWriter(TxnManager* manager) : manager_(manager) {}

  /// kDuplicate when a live row with this key exists; then it is locked in `duplicate_mode`:
  /// exclusively, as INSERT ... ON DUPLICATE KEY UPDATE expects, or shared.
  Status InsertRow(Txn* txn, Index* index, Bytes key, Bytes row,
                   LockMode duplicate_mode = LockMode::kShared);
  /// kNotFound when there is no live row. Locks the row first if it is not ours yet. `seen`: where
  /// it is, if that is known.
  Status UpdateRow(Txn* txn, Index* index, Bytes key, Bytes new_row, const EntryPlace& seen = {});
  Status DeleteRow(Txn* txn, Index* index, Bytes key, const EntryPlace& seen = {});

  /// Undo record for a blob, to be passed to BlobStore::Write.
  Status LogBlobWrite(Txn* txn, MiniTxn* mini_txn, const BlobRef& ref);
  /// The row no longer refers to the blob: purge frees it.
  Status LogBlobDrop(Txn* txn, const BlobRef& ref);
  /// Makes sure id and undo room exist before BlobStore::Write opens its mini-transaction.
  Status PrepareUndo(Txn* txn, size_t payload_bytes);
  /// Undo record of an engine extension, in its own group.
  Status LogExtension(Txn* txn, Bytes payload);

 private:
  /// The newest version of a row.
  struct Newest {
    ClusteredHeader header;
    Bytes row;
    std::optional<LockTarget> lock;  ///< of the row, if another transaction wrote the version
  };
  /// Reads it once its writer has ended; until then the row's lock is waited for in `mode`.
  Status ReadEnded(RowChange* change, const LeafPosition& position, LockMode mode, Newest* newest);
  Status InsertFresh(RowChange* change, MiniTxn* mini_txn, const LeafPosition& position);
  Status InsertOver(RowChange* change, MiniTxn* mini_txn, const LeafPosition& position,
                    LockMode duplicate_mode);
  Status UpdateLive(RowChange* change, MiniTxn* mini_txn, const LeafPosition& position,
                    const Bytes* new_row);
  enum class RowState : uint8_t { kLive, kDeleted };
  Status WriteVersion(RowChange* change, MiniTxn* mini_txn, const LeafPosition& position,
                      const ClusteredHeader& old_header, Bytes old_row, RowState state);
  Status LogAlone(Txn* txn, UndoType type, Bytes payload);
  Status ChangeRow(Txn* txn, Index* index, Bytes key, const Bytes* new_row, const EntryPlace& seen);

  TxnManager* const manager_;
  std::vector<std::byte> scratch_;  ///< the value being written, header first
  LeftLeaves left_leaves_;
  size_t update_undo_bytes_ = 64;  ///< undo room, without the key, of the last update
};

}  // namespace rowan
