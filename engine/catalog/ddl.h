// SPDX-License-Identifier: GPL-2.0-only
// DdlLog: what a transaction's CREATE and DROP do to files and to the catalog in memory.
//
// On disk DDL is ordinary undo: the catalog row, and an extension record written before the change
//   u8 kind (1 created, 2 dropped) | table id u64 | space id u32
//   u8 kind (3 renamed)            | table id u64 | old name
//   u8 kind (4 altered)            | table id u64
//   u8 kind (5 index created)      | table id u64 | space id u32 | index id u64
//   u8 kind (6 index dropped)      | table id u64 | space id u32 | index id u64 | root u32
// Rollback of "created" removes the file, of "renamed" restores the table's old name in memory, of
// "dropped" forgets that Finish should remove the file; purge of "dropped" removes it. Rollback of
// "altered" restores the table's former definition in memory, of "index created" frees all pages of
// the space whose header names the index, however far its build had come; purge of "index dropped"
// frees the index's tree when it is no longer in use. As undo records they work the same for a
// statement, a transaction, a prepared one and a loser of the last run. The live path does not wait
// for purge: FinishDdl removes files of committed drops at once. All steps may be repeated after a
// crash. Files that no catalog row owns after the coordinator has resolved everything are orphans
// of a crash between file creation and its durable log record. Thread safety: all members.
#pragma once

#include <atomic>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/ids.h"
#include "base/mutex.h"
#include "base/status.h"
#include "engine/catalog/catalog.h"
#include "mvcc/row/row_undo.h"
#include "space/page_allocator.h"

namespace rowan {

class DdlLog : public ExtensionApplier {
 public:
  enum class Kind : uint8_t {
    kCreated = 1,
    kDropped = 2,
    kRenamed = 3,
    kAltered = 4,
    kIndexCreated = 5,
    kIndexDropped = 6,
  };
  static constexpr size_t kPayloadBytes = 13;

  DdlLog(Catalog* catalog, PageAllocator* allocator) : catalog_(catalog), allocator_(allocator) {}

  static void EncodePayload(std::byte* payload, Kind kind, TableId table, SpaceId space);
  static std::string EncodeRename(TableId table, const std::string& old_name);
  static std::string EncodeAlter(TableId table);
  struct IndexTree {
    TableId table;
    SpaceId space;
    IndexId index;
    PageNumber root;  ///< of a dropped index
  };
  static std::string EncodeIndex(Kind kind, const IndexTree& index);

  // --- memory of what open transactions did, keyed by transaction ---
  void NoteDrop(const Txn* txn, TableId table, SpaceId space);
  void NoteAlter(const Txn* txn, TableId table);
  void NoteIndexDrop(const Txn* txn, const IndexTree& index);
  void OnCommit(const Txn* txn);
  void OnRollback(const Txn* txn);
  /// Removes the files and trees of this transaction's committed drops. Purge does what exceeds the
  /// budget.
  void Finish(const Txn* txn, WorkBudget* budget);

  Status UndoExtension(Bytes payload, WorkBudget* budget) override;
  Status PurgeExtension(Bytes payload, WorkBudget* budget) override;

 private:
  struct Dropped {
    TableId table;
    SpaceId space;
  };
  struct Pending {
    std::vector<Dropped> drops;
    std::vector<TableId> altered;
    std::vector<IndexTree> index_drops;
    bool committed = false;
  };
  using PendingMap = std::unordered_map<const Txn*, Pending>;

  /// Lets commits and rollbacks without DDL avoid the mutex. A transaction with something pending
  /// noted it in this thread, or reached the thread through a mutex: it sees its own.
  bool NothingPending() const { return pending_count_.load(std::memory_order_relaxed) == 0; }
  Pending& PendingOf(const Txn* txn) ROWAN_REQUIRES(mutex_);
  void Forget(PendingMap::iterator pending) ROWAN_REQUIRES(mutex_);
  void ForgetDrop(TableId table);
  void ForgetIndexDrop(IndexId index);
  Status RemoveTable(TableId table, SpaceId space);
  /// One thread at a time may remove the pages of an index; false: another thread does.
  bool ClaimIndex(IndexId index);
  void UnclaimIndex(IndexId index);
  /// kBusy while the index is used or being removed, and when the budget is used up.
  Status RemoveIndex(const IndexTree& index, WorkBudget* budget);
  Status RemoveClaimed(const IndexTree& index, WorkBudget* budget);
  Status SweepIndex(const IndexTree& index, WorkBudget* budget);

  Catalog* const catalog_;
  PageAllocator* const allocator_;
  Mutex mutex_{LatchRank::kDdlPending};
  PendingMap pending_ ROWAN_GUARDED_BY(mutex_);
  std::atomic<size_t> pending_count_{0};  ///< of pending_, changed with it
  /// One file removal at a time: purge and FinishDdl may meet.
  Mutex remove_mutex_{LatchRank::kFileRemoval};
  /// Guards what follows; never held while a tree is removed: that may take hours.
  Mutex index_mutex_{LatchRank::kIndexRemoval};
  std::unordered_set<IndexId> claimed_ ROWAN_GUARDED_BY(index_mutex_);
  /// Positions of unfinished sweeps; the next start begins them again.
  std::unordered_map<IndexId, PageNumber> swept_ ROWAN_GUARDED_BY(index_mutex_);
};

}  // namespace rowan
