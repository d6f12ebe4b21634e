// SPDX-License-Identifier: GPL-2.0-only
// Table: an open table, shared by all sessions through shared_ptr. Holds the trees, the
// AUTO_INCREMENT and hidden row id counters, and cached statistics. Thread-safe: definition
// constant after construction, counters atomic, statistics racy by design (relaxed).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "engine/catalog/cardinalities.h"
#include "engine/catalog/table_def.h"
#include "engine/sort/changed_rows.h"
#include "mvcc/row/index.h"

namespace rowan {

enum class IndexEdge : uint8_t { kFirst, kLast };

class Table : public std::enable_shared_from_this<Table> {
 public:
  Table(TableDef definition, PageAllocator* allocator);
  /// The table that ALTER makes from `former`: indexes with equal ids are the same objects,
  /// counters continue. `former` no longer changes.
  Table(TableDef definition, PageAllocator* allocator, const Table& former);

  [[nodiscard]] const TableDef& definition() const { return definition_; }
  /// "schema/table" as of now: RENAME changes it; the definition keeps the name it was opened with.
  [[nodiscard]] std::string name() const;
  void SetName(const std::string& name);
  [[nodiscard]] TableId id() const { return definition_.id; }
  [[nodiscard]] SpaceId space() const { return definition_.space; }
  [[nodiscard]] size_t index_count() const { return indexes_.size(); }
  /// 0 = clustered; others in the order of the definition.
  [[nodiscard]] Index* index(size_t index_number) const { return indexes_[index_number].get(); }
  [[nodiscard]] const std::shared_ptr<Index>& shared_index(size_t index_number) const {
    return indexes_[index_number];
  }
  /// Null when the table has no such index.
  [[nodiscard]] std::shared_ptr<Index> FindIndex(IndexId id) const;

  /// First or last key in the tree of an index, whether or not its row is deleted or committed.
  /// kEndOfRange: there is none.
  Status EdgeKey(size_t index_number, IndexEdge edge, std::vector<std::byte>* key) const;

  // AUTO_INCREMENT: next value to hand out. Inserts write nothing for it: after a crash the counter
  // continues after the largest value in the column's index (the caller finds it and raises the
  // counter), or after the mark on disk (the space's counter) if that is larger. The mark is
  // written when a value that is not below it leaves the index, and at a clean shutdown.
  [[nodiscard]] uint64_t auto_increment() const {
    return auto_increment_.load(std::memory_order_relaxed);
  }
  /// The server's auto_increment_offset and auto_increment_increment, and the column's largest
  /// value.
  struct AutoIncrementSeries {
    uint64_t offset = 1;
    uint64_t increment = 1;
    uint64_t most = UINT64_MAX;
  };
  /// Takes `count` values of the series, the first one >= next. At the end of the column's range it
  /// repeats the last value; UINT64_MAX when the counter is beyond it.
  uint64_t TakeAutoIncrement(const AutoIncrementSeries& series, uint64_t count);
  /// A value was stored: the next one is at least `next`.
  void RaiseAutoIncrement(uint64_t next);
  /// Before a row with this value is deleted or changes it: the mark records that it was handed
  /// out. Logged before what the caller does next.
  Status KeepAutoIncrement(uint64_t value);
  /// ALTER TABLE ... AUTO_INCREMENT, TRUNCATE, CREATE.
  Status SetAutoIncrement(uint64_t next);
  /// Writes the current counter (clean shutdown).
  Status PersistAutoIncrement();

  /// Hidden key of a table without primary key; unique, ascending. The counter is recovered at
  /// open.
  [[nodiscard]] uint64_t NextRowId() { return row_id_.fetch_add(1, std::memory_order_relaxed); }
  /// Reads the counters back when the table is opened; before it is shared.
  Status LoadCounters();

  /// From now on the clustered keys of changed rows are also recorded in `rows` (null: no longer):
  /// an index is being built. REQUIRES, unless null: no session changes rows now.
  void CollectChanges(std::shared_ptr<ChangedRows> rows);
  /// Called by the session that changed a row, before the change can be committed.
  void NoteChangedRow(Bytes key) {
    if (collects_changes_.load(std::memory_order_relaxed)) AddChangedRow(key);
  }

  struct Statistics {
    uint64_t rows = 0;  ///< estimate
    uint64_t clustered_pages = 0;
    uint64_t secondary_pages = 0;
    uint64_t file_pages = 0;
    uint64_t used_pages = 0;
  };
  [[nodiscard]] Statistics statistics() const;
  void SetStatistics(const Statistics& statistics);
  /// Live change of the row estimate between refreshes.
  void AddRows(int64_t delta);
  /// Seconds since the epoch of the newest commit in this run that changed rows; 0 = none.
  [[nodiscard]] int64_t update_time() const { return update_time_.load(std::memory_order_relaxed); }
  void SetUpdateTime(int64_t seconds) { update_time_.store(seconds, std::memory_order_relaxed); }
  /// Changes since the last refresh, for the background refresh.
  [[nodiscard]] uint64_t changes_since_refresh() const {
    return changes_.load(std::memory_order_relaxed);
  }

  /// The statistics are uncertain, so a refresh is due.
  void ExpectChanges() { changes_.store(statistics().rows + 1, std::memory_order_relaxed); }

  [[nodiscard]] Cardinalities* cardinalities() { return &cardinalities_; }

  /// The transaction that created the table in this run of the engine; kNoTxn for tables of earlier
  /// runs. A snapshot that does not see it must not read the table: its rows belong to a later time
  /// whatever ids they carry.
  [[nodiscard]] TxnId created_by() const { return created_by_; }
  /// Before the table is shared.
  void SetCreatedBy(TxnId txn) { created_by_ = txn; }
  /// The same for an index that ALTER added: its entries show only the rows of that time.
  [[nodiscard]] TxnId index_created_by(size_t index_number) const {
    return index_created_by_[index_number];
  }
  void SetIndexCreatedBy(size_t index_number, TxnId txn) { index_created_by_[index_number] = txn; }

  /// The newest ALTER of this run that dropped an index: what was read through it is no longer
  /// known.
  [[nodiscard]] TxnId index_dropped_by() const { return index_dropped_by_; }
  /// Before the table is shared.
  void SetIndexDroppedBy(TxnId txn) { index_dropped_by_ = txn; }

  /// Set when the table was dropped; late users get kTableChanged.
  std::atomic<bool> dropped{false};
  /// The space's header says that off-page values may be changed in part.
  std::atomic<bool> notes_changed_values{false};
  /// Set when redo found the table damaged while it was open; users get kCorrupt.
  std::atomic<bool> damaged{false};
  /// With `damaged`: opened to read what is left of it (engine/salvage.h).
  std::atomic<bool> readable{false};

 private:
  Status WriteAutoIncrementMark(uint64_t next) ROWAN_REQUIRES(auto_increment_mutex_);
  void KeepCardinalities(const Table& former);
  void AddChangedRow(Bytes key);

  const TableDef definition_;
  PageAllocator* const allocator_;
  TxnId created_by_ = kNoTxn;
  TxnId index_dropped_by_ = kNoTxn;
  std::vector<TxnId> index_created_by_;  ///< by index number; constant once the table is shared
  std::vector<std::shared_ptr<Index>> indexes_;
  std::atomic<uint64_t> auto_increment_{1};
  std::atomic<uint64_t> auto_increment_mark_{0};  ///< appended to the log
  mutable Mutex name_mutex_{LatchRank::kTableName};
  std::string name_ ROWAN_GUARDED_BY(name_mutex_);
  std::atomic<bool> collects_changes_{false};
  Mutex changed_rows_mutex_{LatchRank::kTableChangedRows};
  std::shared_ptr<ChangedRows> changed_rows_ ROWAN_GUARDED_BY(changed_rows_mutex_);
  Mutex auto_increment_mutex_{LatchRank::kAutoIncrement};  // serialises writing the mark
  std::atomic<uint64_t> row_id_{1};
  Cardinalities cardinalities_;
  std::atomic<uint64_t> rows_{0};
  std::atomic<uint64_t> changes_{0};
  std::atomic<int64_t> update_time_{0};
  std::atomic<uint64_t> clustered_pages_{0}, secondary_pages_{0}, file_pages_{0}, used_pages_{0};
};

}  // namespace rowan
