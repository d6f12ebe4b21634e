// SPDX-License-Identifier: GPL-2.0-only
// Catalog: the engine's own truth about tables. One clustered tree in the system space, key = table
// id big-endian, row = the definition; a large one has several rows (catalog_rows.h).
// Changed through ordinary transactions, so DDL is rolled back, made durable and recovered like
// rows. In memory: every definition, and the opened tables.
//
// The memory side shows uncommitted CREATEs (the server's metadata locks keep others away) and
// keeps dropped tables until the drop is final, so that rollback and purge can find their indexes.
// Thread safety: all members; the row functions take the caller's transaction.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/ids.h"
#include "base/mutex.h"
#include "base/status.h"
#include "engine/catalog/index_names.h"
#include "engine/catalog/table.h"
#include "engine/catalog/table_def.h"
#include "engine/catalog/table_figures.h"
#include "mvcc/row/index.h"
#include "mvcc/row/index_resolver.h"
#include "mvcc/row/row_header.h"
#include "mvcc/row/row_writer.h"
#include "mvcc/undo/undo_log.h"
#include "storage/damaged_spaces.h"

namespace rowan {

class CatalogRowJoiner;

/// What a transaction left unfinished by the last run did to tables.
struct TableChanges {
  std::vector<TableId> created{};
  std::vector<TableId> dropped{};
  std::vector<TableId> altered{};  ///< or renamed
};

inline constexpr IndexId kCatalogIndex{1};
inline constexpr TableId kCatalogTable{1};

class Catalog : public IndexResolver {
 public:
  Catalog(PageAllocator* allocator, PageNumber root, DamagedSpaces* damaged);

  /// Reads all definitions as they were before `unfinished` changed them, and those that these
  /// transactions created.
  Status Load(const std::unordered_set<uint64_t>& unfinished, UndoLog* undo, bool after_crash);

  // --- rows, in the caller's transaction ---
  Status InsertRows(RowWriter* writer, Txn* txn, const TableDef& definition);
  /// The definition differs from the stored one in its name only.
  Status UpdateName(RowWriter* writer, Txn* txn, const TableDef& definition);
  Status DeleteRows(RowWriter* writer, Txn* txn, TableId table);

  // --- ALTER (catalog_versions.cc) ---
  /// Writes the rows of `changed`, a definition of an existing table, and replaces the former one
  /// in memory, which is kept until SettleAlter or UndoAlter. REQUIRES: no other session uses the
  /// table.
  Result<std::shared_ptr<Table>> Alter(RowWriter* writer, Txn* txn, TableDef changed);
  /// Rolled back: restores the former definition. No effect if there is none.
  void UndoAlter(TableId table);
  /// Committed: forgets indexes that are no longer in the definition.
  void SettleAlter(TableId table);
  /// The same for what a prepared transaction of an earlier run altered. Touches nothing else.
  void SettlePrepared(TxnId txn);
  /// Changes by a transaction that was unfinished when Load was called.
  [[nodiscard]] TableChanges ChangesBy(TxnId txn) const;
  /// False while a forgotten index is still in use by an earlier finder.
  bool ReleaseIndex(IndexId index);

  /// A table's statistics, a row of its own next to the definition. A table gets what Load read
  /// when it is opened.
  Status WriteStatistics(RowWriter* writer, Txn* txn, TableId table, const std::string& row);
  Status DeleteStatistics(RowWriter* writer, Txn* txn, TableId table);
  /// Deletes the ones that Load found without their table, a few at a time.
  void RemoveStrayStatistics(TxnManager* txns);

  // --- memory ---
  void Add(const std::shared_ptr<Table>& table);
  /// Forgets the table and marks it and its indexes dropped. False when it was gone already.
  bool Remove(TableId table);
  Status Rename(TableId table, const std::string& name);
  /// The space is marked as damaged: the error log names its table, which is refused from now on;
  /// rollback and purge treat it as dropped. A mark of a dropped table is removed.
  void NoteDamage(SpaceId space);
  /// The space waits for its file: the error log names its table. No effect if that is dropped.
  void NoteWaiting(SpaceId space);
  /// After the table's file was dropped.
  void ForgetDamage(SpaceId space) { damaged_->Forget(space); }
  Result<TableDef> Definition(TableId table) const;
  /// Opens the space and counters on first use.
  Result<std::shared_ptr<Table>> Open(TableId table);
  [[nodiscard]] std::vector<TableDef> Definitions() const;
  /// Ascending.
  [[nodiscard]] std::vector<TableId> ListTableIds() const;
  /// kNotFound. Opens nothing.
  [[nodiscard]] Result<TableFigures> FiguresOf(TableId table, TxnId visible_to_all) const;
  void NoteOnTable(TableId table, uint64_t note);
  /// Frees the memory of the visibility maps of tables that no session has open.
  void ForgetUnusedLeafMaps();
  /// Load met the row of the space's table, delete-marked by a finished transaction.
  [[nodiscard]] bool WasDropped(SpaceId space) const;
  [[nodiscard]] std::vector<std::shared_ptr<Table>> OpenTables() const;

  std::shared_ptr<Index> FindIndex(IndexId index) override;
  bool IndexExists(IndexId index) override;
  /// The table's file is missing, and will be valid when it is back.
  [[nodiscard]] bool Waits(TableId table) const;
  /// Empty when there is no such index, or it is the catalog's own.
  [[nodiscard]] std::string NameOfTableWith(IndexId index) const;
  /// Both empty when there is no such index.
  [[nodiscard]] IndexNames NamesOfIndex(IndexId index) const;
  /// "index NAME of table SCHEMA/NAME", or empty.
  [[nodiscard]] std::string NameOfIndex(IndexId index) const;
  /// For the reports of damage. Does not wait for long: busy objects stay unnamed.
  [[nodiscard]] DamagedObject NamesOf(SpaceId space, IndexId index) const;
  Status OpenFailure(IndexId index) override;
  [[nodiscard]] Tree* tree() const { return &rows_->tree; }

 private:
  struct Version {
    TableDef definition;
    uint32_t rows = 1;             ///< of the catalog tree
    std::shared_ptr<Table> table;  ///< null until first opened
    uint64_t note = 0;             ///< its user's; 0: none
  };
  struct Entry : Version {
    uint64_t silent_until_nanos = 0;  ///< no message about its opening until then
    std::vector<Version> former{};    ///< before the ALTERs of an open transaction, oldest first
    TxnId prepared_by = kNoTxn;       ///< a transaction of an earlier run
    Version prepared{};               ///< the table as it left it
  };
  [[nodiscard]] uint32_t RowsOf(TableId table) const;
  /// A table whose definition `by` changed.
  struct Change {
    TableId table;
    TxnId by;
  };
  /// The table with the index, or of the space.
  [[nodiscard]] const TableDef* DefinitionLocked(SpaceId space, IndexId index) const
      ROWAN_REQUIRES_SHARED(mutex_);
  struct Loading;
  Status LoadRow(Loading* loading, Bytes key, Bytes value);
  static void NoteUnfinished(Loading* loading, TableId table, const ClusteredHeader& newest,
                             bool made_anew);
  void LoadPrepared(const Change& change);
  /// Replaces the entry's own version.
  void ReplaceLocked(Entry* entry, Version version) ROWAN_REQUIRES(mutex_);
  /// Forgets indexes of `former` that the entry no longer has.
  void ForgetIndexesLocked(const Version& former, const Entry& entry) ROWAN_REQUIRES(mutex_);
  void ForgetLocked(const Version& version) ROWAN_REQUIRES(mutex_);
  static void MarkDropped(const Table& table);
  [[nodiscard]] uint32_t page_size_bytes() const { return allocator_->pool()->page_size_bytes(); }

  /// Whether a failed opening of the table goes to the error log.
  bool MayComplain(TableId table);

  PageAllocator* const allocator_;
  DamagedSpaces* const damaged_;
  const std::shared_ptr<Index> rows_;
  mutable SharedMutex mutex_{LatchRank::kCatalog};
  std::unordered_map<TableId, Entry> tables_ ROWAN_GUARDED_BY(mutex_);
  std::unordered_map<IndexId, TableId> indexes_ ROWAN_GUARDED_BY(mutex_);
  std::unordered_map<IndexId, std::shared_ptr<Index>> leaving_ ROWAN_GUARDED_BY(mutex_);
  /// Stored statistics precede a crash, and later changes are unknown. Set by Load.
  bool statistics_are_late_ = false;
  /// Statistics of tables not opened.
  std::unordered_map<TableId, std::string> statistics_ ROWAN_GUARDED_BY(mutex_);
  std::atomic<bool> strays_left_{true};  ///< in statistics_, without a table
  std::unordered_set<SpaceId> dropped_spaces_ ROWAN_GUARDED_BY(mutex_);             ///< from Load
  std::unordered_map<uint64_t, TableChanges> unfinished_ ROWAN_GUARDED_BY(mutex_);  ///< from Load
};

}  // namespace rowan
