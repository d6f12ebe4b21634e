// SPDX-License-Identifier: GPL-2.0-only
// Row writes: each function is one logical change of one tree, done as one log group that holds the
// entry's change and its undo record. They find row-lock conflicts under the leaf latch, give the
// latch back, wait, and start over. Keys and rows are opaque bytes.
//
// Clustered: the row's transaction id is the implicit exclusive lock. Secondary: see row_header.h for
// intervals; inserting a key that exists delete-marked either revives the entry (its deleter is visible
// to all, or is ourselves) or adds one with the next ordinal.
// Errors common to all: kLockTimeout, kDeadlock, kInterrupted, kStopped, kIoError, kCorrupt, kNoSpace,
// kTooBig, kLockTableFull. Thread safety: one Txn per thread; any number of threads per index.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/status.h"
#include "mvcc/index_ref.h"
#include "mvcc/txn.h"
#include "mvcc/txn_manager.h"
#include "space/blob_store.h"

namespace rowan {

class RowWriter {
 public:
  explicit RowWriter(TxnManager* manager) : manager_(manager) {}

  /// kDuplicate when a live row with this key exists (then a shared record lock, or exclusive if
  /// `lock_duplicate_exclusive`, is held on it, as INSERT ... ON DUPLICATE KEY UPDATE expects).
  Status InsertRow(Txn* txn, IndexRef* index, Bytes key, Bytes row, bool lock_duplicate_exclusive);
  /// kNotFound when there is no live row. Locks the row first if it is not ours yet.
  Status UpdateRow(Txn* txn, IndexRef* index, Bytes key, Bytes new_row);
  Status DeleteRow(Txn* txn, IndexRef* index, Bytes key);

  /// `unique_prefix_bytes` > 0: the first that many bytes of the key are the unique value (and contain
  /// no NULL); another live entry with the same value gives kDuplicate, and its full tree key is left
  /// in duplicate_key().
  Status InsertEntry(Txn* txn, IndexRef* index, Bytes key, Bytes payload,
                     size_t unique_prefix_bytes, bool lock_duplicate_exclusive);
  /// Delete-marks the live entry with this key. kNotFound is damage: reported and kCorrupt.
  Status DeleteEntry(Txn* txn, IndexRef* index, Bytes key);

  /// Replaces the payload of our own live entry whose key stays equal but whose original bytes change
  /// (collation-equal values): delete + insert beside it when others may still see the old payload.
  Status ReplaceEntryPayload(Txn* txn, IndexRef* index, Bytes key, Bytes payload);

  /// Undo record for a blob, to be passed to BlobStore::Write.
  Status LogBlobWrite(Txn* txn, MiniTxn* mini_txn, const BlobRef& ref);
  /// The row no longer refers to the blob: purge frees it.
  Status LogBlobDrop(Txn* txn, const BlobRef& ref);
  /// Makes sure id and undo room exist before BlobStore::Write opens its mini-transaction.
  Status PrepareUndo(Txn* txn, size_t payload_bytes);
  /// Undo record of an engine extension, in its own group.
  Status LogExtension(Txn* txn, Bytes payload);

  [[nodiscard]] Bytes duplicate_key() const { return {duplicate_key_.data(), duplicate_key_.size()}; }

 private:
  TxnManager* const manager_;
  std::vector<std::byte> duplicate_key_;
  std::vector<std::byte> scratch_;
};

}  // namespace rowan
