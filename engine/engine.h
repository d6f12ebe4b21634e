// SPDX-License-Identifier: GPL-2.0-only
// Engine: an embeddable database made of the layers to the left: opens (creating or recovering) an
// instance, owns the background threads, the catalog and the open tables. It knows nothing of
// MySQL.
//
// Opening: control file -> doublewrite repair -> redo -> undo scan -> catalog -> ready; losers are
// rolled back and orphan files removed in the background while the engine serves.
// Thread safety: all members unless said otherwise.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/function_ref.h"
#include "base/status.h"
#include "buffer/pool_pages.h"
#include "engine/catalog/index_names.h"
#include "engine/catalog/table.h"
#include "engine/catalog/table_def.h"
#include "engine/catalog/table_figures.h"
#include "engine/options.h"
#include "engine/report/figures.h"
#include "engine/session.h"
#include "space/blob_store.h"
#include "storage/backup.h"
#include "storage/carried_file.h"

namespace rowan {

class FileSystem;

class Engine {
 public:
  /// Errors are also logged as sentences: a folder of other origin, another instance using it, a
  /// newer format, a missing or damaged file, options that do not fit. Nothing is overwritten.
  static Result<std::unique_ptr<Engine>> Open(const EngineOptions& options);
  /// On another file system than the machine's (tests).
  static Result<std::unique_ptr<Engine>> Open(FileSystem* file_system,
                                              const EngineOptions& options);
  /// Without Close: as a crash (for tests), except that memory is released.
  ~Engine();
  /// Clean shutdown: everything flushed, control file marked. Sessions must be gone. What is not
  /// written in time stays in the redo log: the next start redoes it while it serves, as after a
  /// crash. Still Ok.
  Status Close(uint64_t limit_nanos = UINT64_MAX);

  std::unique_ptr<Session> NewSession();

  // --- tables ---
  /// Creates a table in the session's transaction: fills in ids, space and roots of `definition`.
  /// The file exists at once; rollback removes it.
  Result<std::shared_ptr<Table>> CreateTable(Session* session, TableDef definition,
                                             uint64_t auto_increment = 1);
  /// Drops in the session's transaction; files go after commit (Session::FinishDdl) or by purge.
  Status DropTable(Session* session, TableId table);
  Status RenameTable(Session* session, TableId table, const std::string& new_name);
  /// Changes a table's definition in place, in the session's transaction: `changed` has its id.
  /// Indexes with ids stay, or come from an IndexBuild of this transaction; missing ones are freed
  /// after commit (Session::FinishDdl) or by purge. Returns the table to use from then on; a
  /// rollback restores the former one. REQUIRES: no other session uses the table until the
  /// transaction has ended.
  Result<std::shared_ptr<Table>> AlterTable(Session* session, TableDef changed);
  /// Creates an empty index of the table, in the session's transaction: AlterTable adds it.
  Status CreateIndex(Session* session, const Table& table, IndexId* index, PageNumber* root);
  /// The TableDef::directory that the table's file lies under; empty: the instance's folder.
  /// Reads a link of the file system. kNotFound.
  [[nodiscard]] Result<std::string> DirectoryOf(TableId table) const;
  /// kNotFound. Opens the file on first use: kCorrupt, kIoError name it.
  Result<std::shared_ptr<Table>> OpenTable(TableId table);
  /// For a table that OpenTable fails for: see engine/stand_in.h.
  [[nodiscard]] Result<std::shared_ptr<Table>> MakeStandIn(TableId table) const;
  /// A table for Session::Temporary, in no transaction and in no list (catalog/temporary_tables.h).
  Result<std::shared_ptr<Table>> CreateTemporaryTable(TableDef definition, uint64_t auto_increment);
  /// Drops it at once, with all that open transactions did in it.
  Status DropTemporaryTable(TableId table);
  [[nodiscard]] std::vector<TableDef> ListTables();
  /// Once the coordinator has resolved prepared transactions: files that no table owned at the
  /// start are removed or moved to `lost` (catalog/orphan_files.h), or, while unfinished
  /// transactions are still being rolled back, when that is done.
  Status RemoveOrphanFiles();
  /// Some of these files are still to be examined.
  [[nodiscard]] bool orphans_pending() const;

  // --- statistics and checks ---
  /// Counts or estimates at once, for ANALYZE, and keeps the result across restarts. Otherwise the
  /// background does it as rows change. kInterrupted if `interrupted`, here and below, returns
  /// true; it is asked for each page if given.
  Status RefreshStatistics(Table* table, FunctionRef<bool()> interrupted = {});
  /// Makes the background refresh tables that need it now instead of within a second. Cheap.
  void WantStatistics();
  /// Structure of every page of one index; `visit` gets raw tree entries (with headers) in order.
  Status CheckIndex(Table* table, size_t index, Tree::Visit visit,
                    FunctionRef<bool()> interrupted = {});
  /// Appends the off-page values that a stored row (without headers) refers to; the engine does not
  /// know columns.
  using FindBlobs = FunctionRef<void(Bytes row, std::vector<BlobRef>* blobs)>;
  /// Space header, bitmaps, and that every allocated page is reachable from a tree or a row. May
  /// run concurrently with other work; then pages of off-page values are not checked, because old
  /// versions may need them. `find_blobs` may be empty: then rows have none.
  Status CheckSpace(Table* table, FindBlobs find_blobs = {}, FunctionRef<bool()> interrupted = {});
  /// The same for all that belongs to no table: the catalog's tree, the undo streams, their spaces.
  Status CheckSystem();

  // --- what operators look at ---
  [[nodiscard]] EngineFigures Figures() const;
  /// Pages in the buffer pool; takes about 10 ms for a million.
  [[nodiscard]] PoolPages PoolPagesBySpace() const;
  /// Of all tables but temporary ones, ascending.
  [[nodiscard]] std::vector<TableId> ListTableIds() const;
  /// A table's size and place, without opening it or any other I/O. kNotFound.
  [[nodiscard]] Result<TableFigures> FiguresOf(TableId table) const;
  /// Puts a number of the engine's user into the table's figures, until its definition changes or
  /// the engine is closed. No effect if there is no such table.
  void NoteOnTable(TableId table, uint64_t note);
  /// Transactions that have written or are prepared.
  [[nodiscard]] std::vector<TxnInfo> Transactions() const;
  /// Names of the index of a row lock; empty when the catalog does not know it (any more).
  [[nodiscard]] IndexNames NamesOfIndex(IndexId index) const;
  /// Which transactions wait for whose row locks, at most `count_max`.
  [[nodiscard]] std::vector<LockWaitInfo> RowLockWaits(size_t count_max) const;
  /// Explicit row locks, at most `count_max`.
  [[nodiscard]] std::vector<LockInfo> RowLocks(size_t count_max) const;
  /// Times of the log's writes and syncs since the start; lives as long as the engine.
  [[nodiscard]] const LatencyHistogram& LogLatency(LogSyncMethod method, LogPhase phase) const;
  [[nodiscard]] std::string StatusReport();

  // --- durability; see wal/log.h ---
  Status FlushLog();  ///< everything appended so far is durable
  [[nodiscard]] Lsn durable_lsn() const;
  [[nodiscard]] Lsn written_lsn() const;
  Status WaitDurable(Lsn lsn);
  Status WaitWritten(Lsn lsn);
  Status WaitCommitted(Lsn lsn, Durability durability);
  Status WaitDurableFor(Lsn lsn, uint64_t limit_nanos, FunctionRef<bool()> interrupted);

  // --- backup ---
  /// Holds the log from here on; see storage/backup.h. The engine outlives it.
  Result<std::unique_ptr<Backup>> BeginBackup(const BackupOptions& options);
  /// The instance was restored from a backup and has not been used since. The coordinator had
  /// decided everything it knew of when the backup ended, so what it left prepared here was never
  /// committed.
  [[nodiscard]] bool restored() const;
  /// For a log of the owner whose end is to be durable with the engine's; null if nothing may be
  /// written. See storage/carried_file.h, also for what to do after a crash.
  [[nodiscard]] CarriedFile* carried_file() const;
  /// The restore was handled; durable on return.
  Status EndRestore();

  // --- coordination ---
  [[nodiscard]] std::vector<std::string> PreparedXids() const;
  /// The least of them, by bytes, that is not below `first`; empty: there is none.
  [[nodiscard]] std::string PreparedXidFrom(const std::string& first) const;
  /// Names ("schema/table") of the tables that a prepared transaction changed.
  [[nodiscard]] std::vector<std::string> TablesChangedBy(const std::string& xid) const;
  /// What a prepared transaction of an earlier run did to tables, and its number.
  struct PreparedDdl {
    uint64_t txn_number = 0;
    std::vector<TableId> created{};
    std::vector<TableId> dropped{};
    std::vector<TableId> altered{};
  };
  [[nodiscard]] PreparedDdl DdlOf(const std::string& xid) const;
  /// From now on a prepared transaction without session is known by `renamed`, of equal length.
  Status RenamePrepared(const std::string& xid, const std::string& renamed);
  Status CommitPrepared(const std::string& xid, Durability durability);
  Status RollbackPrepared(const std::string& xid);

  // --- settings that may change while running ---
  Status SetLogSyncMethod(LogSyncMethod method);
  Status SetRedoLogCapacity(uint64_t bytes);
  Status SetBufferPoolBytes(uint64_t bytes);
  Status SetDoublewrite(DoublewriteMode mode);
  void SetDataSyncMethod(SyncMethod method);
  void SetIoCapacity(uint32_t pages_per_second);
  void SetScrubRate(uint64_t bytes_per_second);  ///< 0: off
  void SetMaxPurgeLag(uint64_t records);
  /// Most memory for row locks; 0: derived from the size of the buffer pool.
  void SetLockMemory(uint64_t bytes_max);

  /// For files outside the instance, such as exported tables.
  [[nodiscard]] FileSystem* file_system() const;
  [[nodiscard]] const EngineOptions& options() const;
  [[nodiscard]] bool stopped() const;
  /// Pages of the last run are still being redone in the background.
  [[nodiscard]] bool redoing() const;

  struct Impl;
  /// The parts (engine/engine_impl.h), for the rest of engine/ and for tests.
  [[nodiscard]] Impl* impl() const { return impl_.get(); }

 private:
  explicit Engine(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace rowan
