// SPDX-License-Identifier: GPL-2.0-only
// Opening an instance: the storage, which creates or recovers it -> undo scan -> catalog.
#include "engine/engine_impl.h"

#include <algorithm>
#include <unordered_set>

#include "base/logging.h"
#include "engine/sort/entry_sorter.h"
#include "mvcc/undo/undo_recovery.h"
#include "mvcc/undo/undo_redo.h"

namespace rowan {
namespace {

using OnDamage = UndoRecovery::OnDamage;

OnDamage OnUndoDamage(const EngineOptions& options) {
  if (!options.storage.recovery.force) return OnDamage::kRefuse;
  return options.storage.read_only ? OnDamage::kLeaveDirectory : OnDamage::kLeaveStream;
}

}  // namespace

Status Engine::Impl::Open(FileSystem* file_system) {
  Status status = OpenStorage(file_system);
  if (!status.ok()) return status;
  BuildUpperLayers();
  status = storage->is_new()
               ? CreateContents()
               : EntrySorter::RemoveLeftovers(storage->file_system(), options.storage.folder);
  if (!status.ok()) return status;
  return StartTransactions();
}

Status Engine::Impl::OpenStorage(FileSystem* file_system) {
  StorageEvents events;
  if (options.before_creation) events.before_creation = [this] { return ConfirmCreation(); };
  events.settle_carried = options.settle_carried;
  events.space_damaged = [this](SpaceId space) { NoteDamage(space); };
  events.redo_done = [this] { NoteRedoDone(); };
  events.name_damaged = [this](SpaceId space, IndexId index) {
    const Catalog* loaded = names.load(std::memory_order_acquire);
    return loaded == nullptr ? DamagedObject{} : loaded->NamesOf(space, index);
  };
  auto opened = Storage::Open(file_system, options.storage, std::move(events));
  if (!opened.ok()) return opened.status();
  storage = std::move(*opened);
  options.storage = storage->options();
  return Status::Ok();
}

Status Engine::Impl::ConfirmCreation() {
  Result<uint64_t> first_id = options.before_creation();
  if (!first_id.ok()) return first_id.status();
  first_table_id = *first_id;
  return Status::Ok();
}

void Engine::Impl::BuildUpperLayers() {
  table_ids = std::make_unique<TableIds>(storage.get());
  undo = std::make_unique<UndoStreams>(storage->allocator());
  lock_memory_bytes_max = options.txns.lock_memory_bytes_max;
  TxnManagerOptions txn_options = options.txns;
  txn_options.read_only = options.storage.read_only;
  txn_options.lock_memory_bytes_max = LockMemoryBytesMax();
  txns = std::make_unique<TxnManager>(undo.get(), storage->log(), txn_options);
  temporary = std::make_unique<TemporaryTables>(storage->allocator(), storage->blobs(),
                                                storage->log(), options.txns.shutdown_sign);
  txns->SetIdReserver([this](TxnId next_txn, Csn next_csn) {
    return storage->ReserveIds([=](ControlData& data) {
      data.next_txn_id = std::max(data.next_txn_id, next_txn);
      data.next_csn = std::max(data.next_csn, next_csn);
    });
  });
}

Status Engine::Impl::CreateContents() {
  Result<PageNumber> root = Tree::Create(storage->allocator(), kSystemSpace, kCatalogIndex);
  if (!root.ok()) return root.status();
  // The catalog's root is found again in the system space's counter.
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
  // Rollbacks that met unreadable data, or a table that is marked now. No file is judged before
  // they are done.
  orphans->NoteRollbackAgain();
  txns->RetryFailedRollbacks();
  // Remaining files are retried at the next start.
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
  for (const SpaceId space : storage->damaged()->Waiting()) catalog->NoteWaiting(space);
  if (redo_done || storage->is_new()) orphans->NoteRedoDone().Ignore();
}

Status Engine::Impl::OpenCatalog() {
  PageAllocator* const allocator = storage->allocator();
  for (const SpaceId space : {kSystemSpace, kUndoSpace}) {
    const Status opened = allocator->OpenSpace(space);
    const bool is_left = space == kUndoSpace && OnUndoDamage(options) == OnDamage::kLeaveDirectory;
    if (opened.Is(Code::kCorrupt) && is_left) continue;
    if (!opened.ok()) return opened;
  }
  Result<uint64_t> root = allocator->ReadCounter(kSystemSpace);
  if (!root.ok()) return root.status();
  catalog = std::make_unique<Catalog>(allocator, PageNumber(static_cast<uint32_t>(*root)),
                                      storage->damaged());
  ddl = std::make_unique<DdlLog>(catalog.get(), allocator);
  row_undo = std::make_unique<RowUndo>(txns.get(), catalog.get(), storage->blobs(), ddl.get());
  txns->SetApplier(row_undo.get());
  orphans = std::make_unique<OrphanFiles>(storage->file_system(), allocator, catalog.get(),
                                          options.txns.shutdown_sign);
  tables = std::make_unique<TableDdl>(allocator, catalog.get(), ddl.get(), table_ids.get());
  statistics =
      std::make_unique<StatisticsKeeper>(allocator, catalog.get(), txns.get(), temporary.get());
  session_parts = {.allocator = allocator,
                   .blobs = storage->blobs(),
                   .txns = txns.get(),
                   .temporary = temporary.get(),
                   .ddl = ddl.get(),
                   .sort_space = {storage->file_system(), options.storage.folder}};
  return Status::Ok();
}

Status Engine::Impl::StartTransactions() {
  Status status = OpenCatalog();
  if (!status.ok()) return status;
  UndoRecovery recovery(undo.get());
  status = recovery.Run(OnUndoDamage(options));
  if (!status.ok()) return status;
  std::vector<std::unique_ptr<Txn>>& unfinished = recovery.unfinished();
  std::unordered_set<uint64_t> unfinished_ids;
  for (const auto& txn : unfinished) unfinished_ids.insert(txn->txn_id().value());
  const ControlData control = storage->control()->data();
  txns->SetNextIds(TxnId(std::max(control.next_txn_id.value(), recovery.txn_max().value() + 1)),
                   Csn(std::max(control.next_csn.value(), recovery.csn_max().value() + 1)));
  status = catalog->Load(unfinished_ids, txns->undo(), storage->is_after_crash());
  if (!status.ok()) return status;
  names.store(catalog.get(), std::memory_order_release);
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
  // Without background threads nothing would report it later.
  const bool background_works = options.storage.background;
  if (!losers || !background_works) orphans->NoteRollbackDone().Ignore();
  if (!txns->HasHistoryOfLastRun() || !background_works) orphans->NotePurgeDone().Ignore();
  txns->Adopt(std::move(unfinished));
  table_ids->Adopt(control);
  return Status::Ok();
}

Status Engine::Impl::StartBackground() {
  const Status status = storage->StartBackground();
  if (!status.ok() || options.storage.read_only) return status;
  background = std::make_unique<Background>(Background::Parts{.options = &options,
                                                              .storage = storage.get(),
                                                              .txns = txns.get(),
                                                              .temporary = temporary.get(),
                                                              .orphans = orphans.get(),
                                                              .statistics = statistics.get(),
                                                              .catalog = catalog.get()});
  return background->Start();
}

Engine::Impl::~Impl() {
  // As after a crash: threads end, nothing is deliberately flushed.
  if (orphans != nullptr) orphans->Stop();
  if (background != nullptr) background->Stop();
  // Those it notifies about redo are destroyed before it.
  if (storage != nullptr) storage->Stop();
  names.store(nullptr, std::memory_order_release);
}

uint64_t Engine::Impl::LockMemoryBytesMax() const {
  const uint64_t wanted = lock_memory_bytes_max.load(std::memory_order_relaxed);
  if (wanted != 0) return wanted;
  const uint64_t pool_bytes =
      storage->pool()->Statistics().frames * storage->pool()->page_size_bytes();
  return std::max(kLockMemoryBytesDefault, pool_bytes / 4);
}

Status Engine::Impl::PersistCounters() {
  for (const std::shared_ptr<Table>& table : catalog->OpenTables()) {
    if (table->damaged.load(std::memory_order_acquire)) continue;
    const Status status = table->PersistAutoIncrement();
    if (status.Is(Code::kStopped)) return status;
    if (!status.ok() && !status.Is(Code::kNotFound)) {
      LogWarning(
          "The next AUTO_INCREMENT value of table '{}' could not be written: {}. At the next start "
          "it follows from the rows, as after a crash.",
          table->name(), status.message());
      continue;
    }
    if (table->changes_since_refresh() != 0) statistics->Keep(table.get());
  }
  return Status::Ok();
}

}  // namespace rowan
