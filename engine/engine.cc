// SPDX-License-Identifier: GPL-2.0-only
// The facade: opening and closing, and the calls that are forwarded to one part.
#include "engine/engine.h"

#include <map>
#include <set>

#include "base/clock.h"
#include "base/out_of_memory.h"
#include "btree/tree.h"
#include "engine/consistency_check.h"
#include "engine/engine_impl.h"
#include "engine/report/status_report.h"
#include "engine/salvage.h"
#include "engine/stand_in.h"
#include "io/file.h"
#include "mvcc/undo/undo_redo.h"
#include "storage/scrubber.h"

namespace rowan {

Engine::Engine(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Result<std::unique_ptr<Engine>> Engine::Open(const EngineOptions& options) {
  return Open(PosixFileSystem(), options);
}

Result<std::unique_ptr<Engine>> Engine::Open(FileSystem* file_system,
                                             const EngineOptions& options) {
  RegisterTreeRedo();
  RegisterUndoRedo();
  auto impl = std::make_unique<Impl>();
  impl->options = options;
  Status status = impl->Open(file_system);
  if (!status.ok()) return status;
  if (options.storage.background) status = impl->StartBackground();
  if (!status.ok()) return status;
  return std::unique_ptr<Engine>(new Engine(std::move(impl)));
}

Engine::~Engine() = default;

Status Engine::Close(uint64_t limit_nanos) {
  if (impl_->closed) return Status::Ok();
  impl_->closed = true;
  const uint64_t now = MonotonicNanos();
  Storage::Closing closing;
  closing.deadline_nanos = limit_nanos < UINT64_MAX - now ? now + limit_nanos : UINT64_MAX;
  closing.last_changes = [this] { return impl_->PersistCounters(); };
  closing.marks = [next = impl_->table_ids->next()](ControlData& data) {
    data.next_space_id = next.space;
    data.next_table_id = next.table;
    data.next_index_id = next.index;
  };
  // Redo ends last: the others may wait for log space, which its end frees.
  impl_->orphans->Stop();
  if (impl_->background != nullptr) impl_->background->Stop();
  return impl_->storage->Close(closing);
}

std::unique_ptr<Session> Engine::NewSession() {
  return std::make_unique<Session>(this, impl_->session_parts);
}

Result<std::shared_ptr<Table>> Engine::CreateTable(Session* session, TableDef definition,
                                                   uint64_t auto_increment) {
  return OrOutOfMemory(
      [&] { return impl_->tables->Create(session, std::move(definition), auto_increment); });
}

Status Engine::DropTable(Session* session, TableId table) {
  return OrOutOfMemory([&] { return impl_->tables->Drop(session, table); });
}

Status Engine::RenameTable(Session* session, TableId table, const std::string& new_name) {
  return OrOutOfMemory([&] { return impl_->tables->Rename(session, table, new_name); });
}

Result<std::shared_ptr<Table>> Engine::AlterTable(Session* session, TableDef changed) {
  return OrOutOfMemory([&] { return impl_->tables->Alter(session, std::move(changed)); });
}

Status Engine::CreateIndex(Session* session, const Table& table, IndexId* index, PageNumber* root) {
  return impl_->tables->CreateIndex(session, table, index, root);
}

Result<std::string> Engine::DirectoryOf(TableId table) const {
  return IsTemporary(table) ? std::string() : impl_->tables->DirectoryOf(table);
}

Result<std::shared_ptr<Table>> Engine::OpenTable(TableId table) {
  if (IsTemporary(table)) return impl_->temporary->Find(table);
  Result<std::shared_ptr<Table>> opened =
      OrOutOfMemory([&] { return impl_->catalog->Open(table); });
  if (opened.ok() || !impl_->options.storage.recovery.force) return opened;
  if (!Salvage::IsDamage(opened.status())) return opened;
  Result<std::shared_ptr<Table>> damaged =
      OpenDamagedTable(*impl_->catalog, impl_->storage.get(), table);
  return damaged.ok() ? damaged : opened;
}

Result<std::shared_ptr<Table>> Engine::MakeStandIn(TableId table) const {
  return rowan::MakeStandIn(*impl_->catalog, impl_->storage->allocator(), table);
}

Result<std::shared_ptr<Table>> Engine::CreateTemporaryTable(TableDef definition,
                                                            uint64_t auto_increment) {
  return impl_->temporary->Create(std::move(definition), auto_increment);
}

Status Engine::DropTemporaryTable(TableId table) { return impl_->temporary->Drop(table); }

std::vector<TableDef> Engine::ListTables() { return impl_->catalog->Definitions(); }

Status Engine::RemoveOrphanFiles() {
  // Not if unreadable data might be the reason.
  if (impl_->options.storage.read_only) return Status::Ok();
  return impl_->orphans->NoteCoordinatorDone();
}

bool Engine::orphans_pending() const { return impl_->orphans->pending(); }

Status Engine::RefreshStatistics(Table* table, FunctionRef<bool()> interrupted) {
  return impl_->statistics->Refresh(table, interrupted);
}

void Engine::WantStatistics() {
  if (impl_->background != nullptr) impl_->background->WakeHousekeeping();
}

namespace {

ConsistencyCheck CheckOf(Engine::Impl* impl) {
  return {impl->storage.get(), impl->undo.get(), impl->txns.get(), impl->catalog.get(),
          impl->temporary.get()};
}

StatusReport ReportOf(Engine::Impl* impl) {
  return {impl->storage.get(), impl->undo.get(), impl->txns.get(), impl->catalog.get(),
          impl->options.statement_of_thread};
}

}  // namespace

Status Engine::CheckIndex(Table* table, size_t index, Tree::Visit visit,
                          FunctionRef<bool()> interrupted) {
  return CheckOf(impl()).CheckIndex(table, index, visit, interrupted);
}

Status Engine::CheckSpace(Table* table, FindBlobs find_blobs, FunctionRef<bool()> interrupted) {
  return CheckOf(impl()).CheckSpace(table, find_blobs, interrupted);
}

Status Engine::CheckSystem() { return CheckOf(impl()).CheckSystem(); }

EngineFigures Engine::Figures() const { return ReportOf(impl()).Figures(); }

std::string Engine::StatusReport() { return ReportOf(impl()).Text(impl()->rates.Take()); }

std::vector<TxnInfo> Engine::Transactions() const { return impl_->txns->Describe(); }

PoolPages Engine::PoolPagesBySpace() const { return impl_->storage->pool()->PagesBySpace(); }

std::vector<TableId> Engine::ListTableIds() const { return impl_->catalog->ListTableIds(); }

void Engine::NoteOnTable(TableId table, uint64_t note) { impl_->catalog->NoteOnTable(table, note); }

Result<TableFigures> Engine::FiguresOf(TableId table) const {
  return impl_->catalog->FiguresOf(table, impl_->txns->VisibleToAll());
}

IndexNames Engine::NamesOfIndex(IndexId index) const { return impl_->catalog->NamesOfIndex(index); }

std::vector<LockWaitInfo> Engine::RowLockWaits(size_t count_max) const {
  return impl_->txns->locks()->DescribeWaits(count_max);
}

std::vector<LockInfo> Engine::RowLocks(size_t count_max) const {
  return impl_->txns->locks()->Describe(count_max);
}

const LatencyHistogram& Engine::LogLatency(LogSyncMethod method, LogPhase phase) const {
  return impl_->storage->log()->Latency(method, phase);
}

Status Engine::FlushLog() { return impl_->txns->MakeDurable(); }
Lsn Engine::durable_lsn() const { return impl_->storage->log()->durable(); }
Lsn Engine::written_lsn() const { return impl_->storage->log()->written(); }
Status Engine::WaitDurable(Lsn lsn) { return impl_->storage->log()->WaitDurable(lsn); }
Status Engine::WaitWritten(Lsn lsn) { return impl_->storage->log()->WaitWritten(lsn); }

Status Engine::WaitCommitted(Lsn lsn, Durability durability) {
  return impl_->storage->log()->WaitCommitted(lsn, durability);
}

Status Engine::WaitDurableFor(Lsn lsn, uint64_t limit_nanos, FunctionRef<bool()> interrupted) {
  return impl_->storage->log()->WaitDurableFor(lsn, limit_nanos, interrupted);
}

Result<std::unique_ptr<Backup>> Engine::BeginBackup(const BackupOptions& options) {
  const Catalog* const catalog = impl_->catalog.get();
  const auto tables = [catalog] {
    std::map<SpaceId, std::string> names;
    for (const TableDef& table : catalog->Definitions()) names[table.space] = table.name;
    return names;
  };
  return Backup::Begin({impl_->storage.get(), tables}, options);
}
CarriedFile* Engine::carried_file() const { return impl_->storage->carried_file(); }
bool Engine::restored() const { return impl_->storage->is_restored(); }
Status Engine::EndRestore() { return impl_->storage->EndRestore(); }

std::vector<std::string> Engine::PreparedXids() const {
  return impl_->txns->detached().PreparedXids();
}

std::string Engine::PreparedXidFrom(const std::string& first) const {
  return impl_->txns->detached().PreparedXidFrom(first);
}

std::vector<std::string> Engine::TablesChangedBy(const std::string& xid) const {
  std::set<std::string> names;  // a table's indexes come one by one
  for (const IndexId index : impl_->txns->detached().IndexesChangedBy(xid)) {
    std::string name = impl_->catalog->NameOfTableWith(index);
    if (!name.empty()) names.insert(std::move(name));
  }
  return {names.begin(), names.end()};
}

Engine::PreparedDdl Engine::DdlOf(const std::string& xid) const {
  const TxnId txn = impl_->txns->detached().PreparedId(xid);
  if (txn == kNoTxn) return {};
  TableChanges changes = impl_->catalog->ChangesBy(txn);
  return {txn.value(), std::move(changes.created), std::move(changes.dropped),
          std::move(changes.altered)};
}

Status Engine::RenamePrepared(const std::string& xid, const std::string& renamed) {
  return impl_->txns->RenamePrepared(xid, renamed);
}

Status Engine::CommitPrepared(const std::string& xid, Durability durability) {
  const TxnId txn = impl_->txns->detached().PreparedId(xid);
  const Status status = impl_->txns->CommitPrepared(xid, durability);
  if (status.ok()) impl_->catalog->SettlePrepared(txn);
  return status;
}

Status Engine::RollbackPrepared(const std::string& xid) {
  return impl_->txns->RollbackPrepared(xid);
}

Status Engine::SetLogSyncMethod(LogSyncMethod method) {
  return impl_->storage->log()->SetSyncMethod(method);
}
Status Engine::SetRedoLogCapacity(uint64_t bytes) {
  return impl_->storage->log()->SetCapacity(bytes);
}
Status Engine::SetBufferPoolBytes(uint64_t bytes) {
  const Status status = impl_->storage->pool()->Resize(bytes);
  if (status.ok()) impl_->txns->SetLockMemoryMax(impl_->LockMemoryBytesMax());
  return status;
}
void Engine::SetMaxPurgeLag(uint64_t records) { impl_->txns->SetMaxPurgeLag(records); }
void Engine::SetLockMemory(uint64_t bytes_max) {
  impl_->lock_memory_bytes_max.store(bytes_max, std::memory_order_relaxed);
  impl_->txns->SetLockMemoryMax(impl_->LockMemoryBytesMax());
}
Status Engine::SetDoublewrite(DoublewriteMode mode) {
  return impl_->storage->pool()->SetDoublewriteMode(mode);
}
void Engine::SetDataSyncMethod(SyncMethod method) {
  impl_->storage->pool()->SetDataSyncMethod(method);
}
void Engine::SetIoCapacity(uint32_t pages_per_second) {
  impl_->storage->pool()->SetIoCapacity(pages_per_second);
}
void Engine::SetScrubRate(uint64_t bytes_per_second) {
  impl_->storage->scrubber()->SetRate(bytes_per_second);
}

FileSystem* Engine::file_system() const { return impl_->storage->file_system(); }
const EngineOptions& Engine::options() const { return impl_->options; }
bool Engine::redoing() const { return impl_->storage->redoing(); }
bool Engine::stopped() const { return impl_->storage->stopped(); }

}  // namespace rowan
