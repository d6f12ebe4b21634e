// SPDX-License-Identifier: GPL-2.0-only
// Engine::Impl: the parts of an open instance in the order they are built (and destroyed in
// reverse), and how they are opened. Private to engine/.
#pragma once

#include <atomic>
#include <memory>

#include "base/mutex.h"
#include "engine/background.h"
#include "engine/catalog/catalog.h"
#include "engine/catalog/ddl.h"
#include "engine/catalog/orphan_files.h"
#include "engine/catalog/table_ids.h"
#include "engine/catalog/temporary_tables.h"
#include "engine/engine.h"
#include "engine/options.h"
#include "engine/report/attention.h"
#include "engine/sort/entry_sorter.h"
#include "engine/statistics/statistics_keeper.h"
#include "engine/table_ddl.h"
#include "mvcc/row/row_undo.h"
#include "storage/storage.h"

namespace rowan {

struct Engine::Impl {
  ~Impl();

  EngineOptions options;
  std::unique_ptr<Storage> storage;
  std::unique_ptr<TableIds> table_ids;
  std::unique_ptr<UndoStreams> undo;
  std::unique_ptr<TxnManager> txns;
  std::unique_ptr<Catalog> catalog;
  std::unique_ptr<DdlLog> ddl;
  std::unique_ptr<RowUndo> row_undo;
  std::unique_ptr<TemporaryTables> temporary;
  std::unique_ptr<OrphanFiles> orphans;
  std::unique_ptr<TableDdl> tables;
  std::unique_ptr<StatisticsKeeper> statistics;
  std::unique_ptr<Background> background;
  SessionParts session_parts;
  CounterRates rates;  ///< of counters between status reports
  bool closed = false;
  /// Null until loaded: until then reports of damage have no names.
  std::atomic<const Catalog*> names{nullptr};

  std::atomic<uint64_t> lock_memory_bytes_max{0};  ///< from the options; may change while running
  [[nodiscard]] uint64_t LockMemoryBytesMax() const;

  /// Redo may find damage before the layers concerned exist.
  Mutex redo_mutex{LatchRank::kRedoProgress};
  bool serving ROWAN_GUARDED_BY(redo_mutex) = false;  ///< catalog and orphans exist
  bool redo_done ROWAN_GUARDED_BY(redo_mutex) = false;

  uint64_t first_table_id = 0;  ///< of an instance that this start creates

  Status Open(FileSystem* file_system);
  Status OpenStorage(FileSystem* file_system);
  Status ConfirmCreation();
  void BuildUpperLayers();
  /// For a new instance: catalog and undo streams.
  Status CreateContents();
  Status OpenCatalog();
  Status StartTransactions();
  void NoteRedoDone();
  /// From now on the tables of marked spaces are refused.
  void NoteDamage(SpaceId space);
  void NoteServing();
  Status StartBackground();

  /// Writes counters and statistics of tables, before the instance is closed.
  Status PersistCounters();

  /// The manager of the transactions that change this table.
  [[nodiscard]] TxnManager* TxnsOf(const Table& table) const {
    return IsTemporary(table.id()) ? temporary->txns() : txns.get();
  }
};

}  // namespace rowan
