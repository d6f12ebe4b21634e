// SPDX-License-Identifier: GPL-2.0-only
// Row writes: each function is one logical change of one tree, done as one log group that holds the
// entry's change and its undo record. They find row-lock conflicts under the leaf latch, give the
// latch back, wait, and start over. Keys and rows are opaque bytes. A statement changes the
// clustered row first: its lock orders all changes of the row's secondary entries.
//
// Clustered: the row's transaction id is the implicit exclusive lock. Secondary: see row_header.h
// for intervals; inserting a key that exists delete-marked either revives the entry (its deleter is
// visible to all, or is ourselves) or adds one with the next ordinal.
// Errors common to all: kLockTimeout, kDeadlock, kInterrupted, kStopped, kIoError, kCorrupt,
// kNoSpace, kTooBig, kLockTableFull. Thread safety: one Txn per thread; any number of threads per
// index.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/status.h"
#include "btree/cursor.h"
#include "mvcc/row/index_ref.h"
#include "mvcc/row/row_header.h"
#include "mvcc/txn/txn.h"
#include "mvcc/txn_manager.h"
#include "space/blob_store.h"

namespace rowan {

struct RowChange;

class RowWriter {
 public:
  explicit RowWriter(TxnManager* manager) : manager_(manager) {}

  /// kDuplicate when a live row with this key exists (then a shared record lock, or exclusive if
  /// `lock_duplicate_exclusive`, is held on it, as INSERT ... ON DUPLICATE KEY UPDATE expects).
  Status InsertRow(Txn* txn, IndexRef* index, Bytes key, Bytes row, bool lock_duplicate_exclusive);
  /// kNotFound when there is no live row. Locks the row first if it is not ours yet.
  Status UpdateRow(Txn* txn, IndexRef* index, Bytes key, Bytes new_row);
  Status DeleteRow(Txn* txn, IndexRef* index, Bytes key);

  /// `unique_prefix_bytes` > 0: the first that many bytes of the key are the unique value (and
  /// contain no NULL); another live entry with the same value gives kDuplicate, and its full tree
  /// key is left in duplicate_key().
  Status InsertEntry(Txn* txn, IndexRef* index, Bytes key, Bytes payload,
                     size_t unique_prefix_bytes, bool lock_duplicate_exclusive);
  /// Delete-marks the live entry with this key. kNotFound is damage: reported and kCorrupt.
  Status DeleteEntry(Txn* txn, IndexRef* index, Bytes key);

  /// Replaces the payload of our own live entry whose key stays equal but whose original bytes
  /// change (collation-equal values): delete + insert beside it when others may still see the old
  /// payload.
  Status ReplaceEntryPayload(Txn* txn, IndexRef* index, Bytes key, Bytes payload);

  /// Undo record for a blob, to be passed to BlobStore::Write.
  Status LogBlobWrite(Txn* txn, MiniTxn* mini_txn, const BlobRef& ref);
  /// The row no longer refers to the blob: purge frees it.
  Status LogBlobDrop(Txn* txn, const BlobRef& ref);
  /// Makes sure id and undo room exist before BlobStore::Write opens its mini-transaction.
  Status PrepareUndo(Txn* txn, size_t payload_bytes);
  /// Undo record of an engine extension, in its own group.
  Status LogExtension(Txn* txn, Bytes payload);

  [[nodiscard]] Bytes duplicate_key() const {
    return {duplicate_key_.data(), duplicate_key_.size()};
  }

 private:
  struct EntryWrite;

  Status InsertFresh(RowChange* change, MiniTxn* mini_txn, const LeafPosition& position);
  Status InsertOver(RowChange* change, MiniTxn* mini_txn, const LeafPosition& position,
                    LockMode duplicate_mode);
  Status UpdateLive(RowChange* change, MiniTxn* mini_txn, const LeafPosition& position,
                    const Bytes* new_row);
  Status WriteVersion(RowChange* change, MiniTxn* mini_txn, const LeafPosition& position,
                      const ClusteredHeader& old_header, Bytes old_row, bool marks_deleted);
  Status LogAlone(Txn* txn, UndoType type, Bytes payload);
  Status ChangeRow(Txn* txn, IndexRef* index, Bytes key, const Bytes* new_row);

  Status InsertUnique(const EntryWrite& write, Bytes value, LockMode duplicate_mode);
  /// One look. kDuplicate; kLockWait: queued for an entry that is still being decided about.
  Status CheckUnique(Txn* txn, IndexRef* index, Bytes value, LockMode mode);
  Status CheckEntriesOf(Bytes value, Cursor* cursor, Txn* txn, IndexRef* index, LockMode mode);
  bool ProvesNew(const Txn& txn, const IndexRef& index, const LeafPosition& position,
                 Bytes value) const;
  Status JudgeDuplicate(Txn* txn, IndexRef* index, LockMode mode);
  Status CheckAndPut(const EntryWrite& write, Bytes value, LockMode duplicate_mode);
  Status PutEntry(const EntryWrite& write);
  Status PutAt(const EntryWrite& write, Bytes tree_key, bool has_ordinal);
  Status PutOver(const EntryWrite& write, RowChange* change, MiniTxn* mini_txn,
                 const LeafPosition& position);
  Status MarkAt(Txn* txn, IndexRef* index, Bytes key, Bytes tree_key);
  Status MarkEntry(RowChange* change, MiniTxn* mini_txn, const LeafPosition& position, Bytes key);
  Status FindLastOrdinal(IndexRef* index, Bytes key, uint32_t* ordinal);
  Bytes WithOrdinal(Bytes key, uint32_t ordinal);
  Cursor* CursorOn(IndexRef* index);

  TxnManager* const manager_;
  std::vector<std::byte> duplicate_key_;
  std::vector<std::byte> scratch_;   ///< the value being written, header first
  std::vector<std::byte> tree_key_;  ///< key with ordinal
  std::unique_ptr<Cursor> cursor_;   ///< for looks at secondary entries; made at first use
  size_t update_undo_bytes_ = 64;    ///< undo room beside the key that the last update needed
};

}  // namespace rowan
