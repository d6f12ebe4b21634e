// SPDX-License-Identifier: GPL-2.0-only
// Opening an instance: the storage, which creates or recovers it -> undo scan -> catalog.
#include <algorithm>
#include <unordered_set>

#include "base/logging.h"
#include "engine/engine_impl.h"
#include "engine/entry_sorter.h"
#include "mvcc/undo/undo_recovery.h"
#include "mvcc/undo/undo_redo.h"

namespace rowan {
namespace {

StorageOptions StorageOptionsOf(const EngineOptions& options) {
  StorageOptions storage;
  storage.folder = options.folder;
  storage.page_size_bytes = options.page_size_bytes;
  storage.open_files_max = options.open_files_max;
  storage.log.capacity_bytes = options.redo_log_capacity_bytes;
  storage.log.buffer_bytes = options.log_buffer_bytes;
  storage.log.sync_method = options.log_sync_method;
  storage.buffer.pool_bytes = options.buffer_pool_bytes;
  storage.buffer.doublewrite = options.doublewrite;
  storage.buffer.data_sync_method = options.data_sync_method;
  storage.buffer.io_backend = options.io_backend;
  storage.buffer.io_capacity_pages_per_second = options.io_capacity_pages_per_second;
  storage.buffer.cleaners = options.page_cleaners;
  storage.buffer.session_writers = options.session_writers;
  storage.recovery.memory_bytes_max = options.redo_memory_bytes_max;
  storage.recovery.workers = options.redo_workers;
  storage.recovery.force = options.force_recovery > 0;
  storage.background = options.background;
  return storage;
}

}  // namespace

Result<std::unique_ptr<Engine>> Engine::Open(FileSystem* file_system,
                                             const EngineOptions& options) {
  RegisterTreeRedo();
  RegisterUndoRedo();
  auto impl = std::make_unique<Impl>();
  impl->options = options;
  const Status status = impl->Open(file_system);
  if (!status.ok()) return status;
  if (options.background) impl->StartBackground();
  return std::unique_ptr<Engine>(new Engine(std::move(impl)));
}

Status Engine::Impl::Open(FileSystem* file_system) {
  Status status = OpenStorage(file_system);
  if (!status.ok()) return status;
  BuildUpperLayers();
  status = storage->is_new() ? CreateContents()
                             : EntrySorter::RemoveLeftovers(file_system, options.folder);
  if (!status.ok()) return status;
  return StartTransactions();
}

Status Engine::Impl::OpenStorage(FileSystem* file_system) {
  StorageEvents events;
  if (options.before_creation) events.before_creation = [this] { return AskBeforeCreation(); };
  events.space_damaged = [this](SpaceId space) { NoteDamage(space); };
  events.redo_done = [this] { NoteRedoDone(); };
  auto opened = Storage::Open(file_system, StorageOptionsOf(options), std::move(events));
  if (!opened.ok()) return opened.status();
  storage = std::move(*opened);
  options.page_size_bytes = storage->options().page_size_bytes;
  options.buffer_pool_bytes = storage->options().buffer.pool_bytes;
  return Status::Ok();
}

Status Engine::Impl::AskBeforeCreation() {
  Result<uint64_t> first_id = options.before_creation();
  if (!first_id.ok()) return first_id.status();
  first_table_id = *first_id;
  return Status::Ok();
}

void Engine::Impl::BuildUpperLayers() {
  undo = std::make_unique<UndoStreams>(storage->allocator());
  lock_memory_bytes_max = options.lock_memory_bytes_max;
  const TxnManagerOptions txn_options{.lock_memory_bytes_max = LockMemoryBytesMax(),
                                      .ring_size = options.commit_ring_entries,
                                      .wait_hooks = options.lock_wait_hooks,
                                      .shutdown_sign = options.shutdown_sign};
  txns = std::make_unique<TxnManager>(undo.get(), storage->log(), txn_options);
  temporary = std::make_unique<TemporaryTables>(storage->allocator(), storage->blobs(),
                                                storage->log(), options.shutdown_sign);
  txns->SetIdReserver([this](TxnId next_txn, Csn next_csn) {
    return ReserveInControlFile([=](ControlData& data) {
      data.next_txn_id = std::max(data.next_txn_id, next_txn);
      data.next_csn = std::max(data.next_csn, next_csn);
    });
  });
}

Status Engine::Impl::ReserveInControlFile(Storage::ControlChange change) {
  const Status status = storage->control()->UpdateBothSlots([&](ControlData& data) {
    change(data);
    data.log_durable_lsn = std::max(data.log_durable_lsn, storage->log()->durable());
  });
  if (!status.ok()) storage->log()->Stop("writing the control file failed");
  return status;
}

Status Engine::Impl::CreateContents() {
  Result<PageNumber> root = Tree::Create(storage->allocator(), kSystemSpace, kCatalogIndex);
  if (!root.ok()) return root.status();
  // The system space's counter is where the catalog's root is found again.
  Status status = storage->allocator()->WriteCounter(kSystemSpace, root.value().value());
  if (!status.ok()) return status;
  status = undo->Create();
  if (!status.ok()) return status;
  return storage->FinishCreation([this](ControlData& data) {
    data.next_index_id = IndexId(kCatalogIndex.value() + 1);
    data.next_table_id = TableId(std::max(kCatalogTable.value() + 1, first_table_id));
  });
}

void Engine::Impl::NoteRedoDone() {
  const MutexLock lock(&redo_mutex);
  redo_done = true;
  if (!serving) return;
  // Those that met what could not be read, or a table that is marked now. No file is judged before
  // they are through.
  orphans->NoteRollbackAgain();
  txns->RetryFailedRollbacks();
  // Files that stay all the same are tried again at the next start.
  if (txns->LoserCount() == 0) orphans->NoteRollbackDone().Ignore();
  orphans->NoteRedoDone().Ignore();
}

void Engine::Impl::NoteDamage(SpaceId space) {
  const MutexLock lock(&redo_mutex);
  if (serving) catalog->NoteDamage(space);
}

void Engine::Impl::NoteServing() {
  const MutexLock lock(&redo_mutex);
  serving = true;
  for (const SpaceId space : storage->damaged()->All()) catalog->NoteDamage(space);
  if (redo_done || storage->is_new()) orphans->NoteRedoDone().Ignore();
}

Status Engine::Impl::OpenCatalog() {
  PageAllocator* const allocator = storage->allocator();
  for (const SpaceId space : {kSystemSpace, kUndoSpace}) {
    const Status opened = allocator->OpenSpace(space);
    if (!opened.ok()) return opened;
  }
  Result<uint64_t> root = allocator->ReadCounter(kSystemSpace);
  if (!root.ok()) return root.status();
  catalog = std::make_unique<Catalog>(allocator, PageNumber(static_cast<uint32_t>(*root)),
                                      storage->damaged());
  ddl = std::make_unique<DdlLog>(catalog.get(), allocator);
  row_undo = std::make_unique<RowUndo>(txns.get(), catalog.get(), storage->blobs(), ddl.get());
  txns->SetApplier(row_undo.get());
  orphans = std::make_unique<OrphanFiles>(storage->file_system(), allocator, catalog.get());
  return Status::Ok();
}

Status Engine::Impl::StartTransactions() {
  Status status = OpenCatalog();
  if (!status.ok()) return status;
  UndoRecovery recovery(undo.get());
  status = recovery.Run(options.force_recovery > 0);
  if (!status.ok()) return status;
  std::vector<std::unique_ptr<Txn>>& unfinished = recovery.unfinished();
  std::unordered_set<uint64_t> unfinished_ids;
  for (const auto& txn : unfinished) unfinished_ids.insert(txn->txn_id().value());
  const ControlData control = storage->control()->data();
  txns->SetNextIds(TxnId(std::max(control.next_txn_id.value(), recovery.txn_max().value() + 1)),
                   Csn(std::max(control.next_csn.value(), recovery.csn_max().value() + 1)));
  status = catalog->Load(unfinished_ids, txns->undo());
  if (!status.ok()) return status;
  if (!unfinished.empty()) {
    LogInfo(
        "Crash recovery: {} unfinished transactions; those not prepared are rolled back in the "
        "background.",
        unfinished.size());
  }
  status = orphans->Collect();
  if (!status.ok()) return status;
  const bool losers = std::any_of(unfinished.begin(), unfinished.end(),
                                  [](const auto& txn) { return txn->state == TxnState::kActive; });
  NoteServing();
  // Without background threads nobody would say so later.
  if (!losers || !options.background) orphans->NoteRollbackDone().Ignore();
  txns->Adopt(std::move(unfinished));
  AdoptIds(control);
  return Status::Ok();
}

void Engine::Impl::AdoptIds(const ControlData& control) {
  const MutexLock lock(&id_mutex);
  next_space = space_mark = control.next_space_id.value();
  next_index = index_mark = control.next_index_id.value();
  next_table = table_mark = control.next_table_id.value();
}

}  // namespace rowan
