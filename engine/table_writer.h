// SPDX-License-Identifier: GPL-2.0-only
// TableWriter: inserts, updates and deletes records (engine/row_codec.h), as TableCursor reads
// them. It turns a record into the engine's key, row, entries and off-page values. Rows go into the
// session's transaction, or into a BulkLoad.
//
// Off-page values are written before their row; when the row then fails, they are rolled back. A
// value that the user passes back unchanged (the very bytes that a cursor gave it) keeps its place
// instead of being rewritten, one with few changes shares most of it.
//
// An update is made in steps: Take the row as it is stored, then Update it; or, where the outcome
// matters, Take, Prepare and Update or Delete.
// Thread safety: one thread.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "base/function_ref.h"
#include "base/out_of_memory.h"
#include "base/status.h"
#include "engine/bulk_load.h"
#include "engine/catalog/table.h"
#include "engine/row_codec.h"
#include "engine/row_image.h"
#include "engine/session.h"
#include "engine/table_cursor.h"

namespace rowan {

/// A row as it is stored.
struct StoredRecord {
  const void* record = nullptr;
  /// The cursor that read it, with all columns and its key; it need not be the cursor's last row.
  /// Null: none, then `number` is the key if records do not hold one.
  const TableCursor* cursor = nullptr;
  Bytes number{};
};

/// Finds a row's stored entries where those computed from it differ (IndexEntry::computed).
class StoredEntries {
 public:
  virtual ~StoredEntries() = default;
  /// Entries of the row with this clustered key, which is locked; in key order, at least one where
  /// each row has one.
  virtual Status Find(uint32_t index, Bytes key, std::vector<EncodedEntry>* entries) = 0;
};

class TableWriter final : private RowCodec::BlobWriter {
 public:
  /// All outlive the writer. `stored_entries` may be null where no entry is computed.
  TableWriter(Session* session, Table* table, const RowCodec* codec,
              StoredEntries* stored_entries = nullptr);

  void SetSession(Session* session) { session_ = session; }

  // --- errors: as Session, and those of the codec ---
  /// `number`: the key if records do not hold one; empty: the table's next one.
  Status Insert(const void* record, LockMode duplicate_mode = LockMode::kShared, Bytes number = {});
  /// The same into a load of the table.
  Status Load(BulkLoad* load, const void* record, Bytes number = {});

  /// Takes the row for the next step. `changed`: in which indexes its entries may change, with [0]
  /// whether its key may (null: all, empty: none); it lives until then, the contents of `row` need
  /// not.
  Status Take(const StoredRecord& row, const IndexSet* changed = nullptr);
  /// REQUIRES: a row was taken, here and below.
  Status Update(const void* record);
  /// REQUIRES: taken for changes in any index.
  Status Delete();
  /// What the row taken is to become, with Update.
  Status Prepare(const void* record);
  /// The row keeps its key and takes no unique value: the update cannot conflict with another row.
  [[nodiscard]] bool KeepsPlace();
  Status Update();

 private:
  Status Write(OffPageWrite* value) override;
  /// Null: the row taken has none there.
  [[nodiscard]] const TableCursor::OffPage* StoredOf(uint32_t column) const;
  Status ChangeOffPage(const TableCursor::OffPage& stored, OffPageWrite* value);
  Status EncodeNew(const void* record, Bytes number);
  Status TryInsert(const void* record, LockMode duplicate_mode, Bytes number);
  Status TryLoad(BulkLoad* load, const void* record, Bytes number);
  Status TryUpdate();
  Status TryDelete();
  [[nodiscard]] Session::StoredKey RowTaken() const {
    return {before_.key(), source_ == nullptr ? EntryPlace() : source_->row_place()};
  }
  /// Of the row taken, into `blobs_`.
  Status FindBlobs();
  /// Drops those that are not kept.
  Status DropBlobs();
  /// Repeats the change with the entries that the row really has.
  Status ChangeAsStored(FunctionRef<Status()> change);
  /// Returns `status`; drops off-page values of a failed row.
  Status Finish(Status status);

  Session* session_;
  Table* const table_;
  const RowCodec* const codec_;
  StoredEntries* const stored_entries_;
  RowImage before_;
  RowImage after_;
  const void* record_ = nullptr;         ///< of `after_`
  const TableCursor* source_ = nullptr;  ///< has read `before_`; null: none
  const IndexSet* changed_ = nullptr;
  std::vector<EntryChange> changes_;
  EncodedEntry buffer_;
  std::vector<BlobRef> blobs_;  ///< of `before_`
  std::vector<BlobRef> kept_;   ///< of those, by `after_`
  bool wrote_values_ = false;
  ValueUndo value_undo_ = ValueUndo::kFreed;
  UndoPosition before_values_{};  ///< valid once it wrote some
};

}  // namespace rowan
