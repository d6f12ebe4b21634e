// SPDX-License-Identifier: GPL-2.0-only
// Engine::Impl: the parts of an open instance in the order they are built (and destroyed in
// reverse). Private to engine/.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "base/mutex.h"
#include "base/thread_loop.h"
#include "engine/catalog.h"
#include "engine/ddl.h"
#include "engine/engine.h"
#include "engine/options.h"
#include "engine/orphan_files.h"
#include "engine/temporary_tables.h"
#include "mvcc/row/row_undo.h"
#include "storage/storage.h"

namespace rowan {

/// A space's worth of ids is reserved in the control file at once, so DDL rarely writes it.
inline constexpr uint32_t kIdChunk = 256;

struct Engine::Impl {
  ~Impl();

  EngineOptions options;
  std::unique_ptr<Storage> storage;
  std::unique_ptr<UndoStreams> undo;
  std::unique_ptr<TxnManager> txns;
  std::unique_ptr<Catalog> catalog;
  std::unique_ptr<DdlLog> ddl;
  std::unique_ptr<RowUndo> row_undo;
  std::unique_ptr<TemporaryTables> temporary;
  std::unique_ptr<OrphanFiles> orphans;
  std::vector<std::unique_ptr<ThreadLoop>> threads;
  ThreadLoop* housekeeping = nullptr;  ///< one of them
  std::atomic<bool> stopping{false};   ///< background work is to be left where it stands
  bool gives_undo_back = true;         ///< housekeeping's
  bool closed = false;
  /// Null until it is loaded: reports of damage until then have no names.
  std::atomic<const Catalog*> names{nullptr};

  std::atomic<uint64_t> lock_memory_bytes_max{0};  ///< of the options, changed while running
  [[nodiscard]] uint64_t LockMemoryBytesMax() const;

  /// What redo finds may come before the layers it is for.
  Mutex redo_mutex{LatchRank::kRedoProgress};
  bool serving ROWAN_GUARDED_BY(redo_mutex) = false;  ///< catalog and orphans are there
  bool redo_done ROWAN_GUARDED_BY(redo_mutex) = false;

  // Ids for DDL: next to hand out and the mark reserved in the control file.
  Mutex id_mutex{LatchRank::kTableIds};
  uint32_t next_space ROWAN_GUARDED_BY(id_mutex) = 0;
  uint32_t space_mark ROWAN_GUARDED_BY(id_mutex) = 0;
  uint64_t next_index ROWAN_GUARDED_BY(id_mutex) = 0;
  uint64_t index_mark ROWAN_GUARDED_BY(id_mutex) = 0;
  uint64_t next_table ROWAN_GUARDED_BY(id_mutex) = 0;
  uint64_t table_mark ROWAN_GUARDED_BY(id_mutex) = 0;
  uint64_t first_table_id = 0;  ///< of an instance created by this start

  // open.cc
  Status Open(FileSystem* file_system);
  Status OpenStorage(FileSystem* file_system);
  Status AskBeforeCreation();
  void BuildUpperLayers();
  /// Of a new instance: catalog and undo streams.
  Status CreateContents();
  Status OpenCatalog();
  Status StartTransactions();
  void NoteRedoDone();
  /// The tables of marked spaces are refused from now on.
  void NoteDamage(SpaceId space);
  void NoteServing();
  /// Ids that are handed out only when this is durable; a failure stops the log.
  Status ReserveInControlFile(Storage::ControlChange change);
  void AdoptIds(const ControlData& control);

  // background.cc
  void StartBackground();
  /// Not the storage's threads: they end last.
  void StopBackground();
  ThreadLoop::Next PurgeTick(uint32_t worker);
  ThreadLoop::Next RollbackTick();
  ThreadLoop::Next HousekeepingTick();
  void GiveUndoBack(SpaceId undo_space);
  void RefreshDueStatistics();
  void WakeHousekeeping() {
    if (housekeeping != nullptr) housekeeping->Wake();
  }

  /// Of the transactions that change this table.
  [[nodiscard]] TxnManager* TxnsOf(const Table& table) const {
    return IsTemporary(table.id()) ? temporary->txns() : txns.get();
  }

  // statistics_store.cc
  void KeepStatistics(Table* table);

  // tables.cc
  Status ReserveIdsLocked(uint32_t indexes) ROWAN_REQUIRES(id_mutex);
  /// A table's file, catalog rows and counter. Undone by the caller when it fails.
  Result<std::shared_ptr<Table>> Make(Session* session, TableDef* definition,
                                      uint64_t auto_increment);
  Result<std::shared_ptr<Table>> Alter(Session* session, const TableDef& former, TableDef changed);
  Status PersistCounters();

  void CommitDdl(const Txn* txn) { ddl->OnCommit(txn); }
  void RollbackDdl(const Txn* txn) { ddl->OnRollback(txn); }
  void FinishDdl(const Txn* txn) { ddl->Finish(txn); }
};

}  // namespace rowan
