// SPDX-License-Identifier: GPL-2.0-only
// Opening an instance: creating a new one, or control file -> doublewrite repair -> redo -> undo
// scan -> catalog. An instance whose creation was cut short by a crash is recognised by
// next_table_id == 0 in its control file and is created anew: nobody can have stored anything in
// it.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <thread>
#include <unordered_set>

#include "base/clock.h"
#include "base/logging.h"
#include "buffer/buffer_redo.h"
#include "engine/engine_impl.h"
#include "engine/entry_sorter.h"
#include "engine/upgrade.h"

namespace rowan {
namespace {

constexpr TableId kCreationUnfinished{0};
/// Until what could not be read is tried again.
constexpr std::chrono::milliseconds kRedoTick{1000};

void RegisterAllRedo() {
  RegisterBufferRedo();
  RegisterSpaceRedo();
  RegisterTreeRedo();
  RegisterUndoRedo();
}

/// Lists take two bytes for a record of a bulk change and up to ten for one at a random place, and
/// some dozens a page. Where they list all of the log, nothing is redone before serving, and each
/// page is read once; half a pool is what the pool itself does not need yet.
RecoveryOptions RecoveryOptionsOf(const EngineOptions& options) {
  constexpr uint64_t kMemoryMin = uint64_t{16} << 20;
  constexpr uint64_t kMemoryUsual = uint64_t{256} << 20;
  constexpr uint64_t kMemoryMax = uint64_t{16} << 30;  // what RedoBacklog can address, halved
  constexpr uint32_t kWorkersMax = 8;
  RecoveryOptions recovery;
  recovery.memory_bytes_max = options.redo_memory_bytes_max;
  if (recovery.memory_bytes_max == 0) {
    const uint64_t machine = static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                             static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
    const uint64_t wanted = std::max(kMemoryUsual, options.buffer_pool_bytes / 2);
    recovery.memory_bytes_max = std::max(kMemoryMin, std::min(wanted, machine / 8));
  }
  recovery.memory_bytes_max = std::min(recovery.memory_bytes_max, kMemoryMax);
  recovery.workers = options.redo_workers;
  if (recovery.workers == 0) {
    // They wait for reads most of the time.
    recovery.workers = options.background
                           ? std::clamp(std::thread::hardware_concurrency(), 2U, kWorkersMax)
                           : 1;
  }
  recovery.force = options.force_recovery > 0;
  return recovery;
}

bool IsPowerOfTwo(uint64_t value) { return value != 0 && (value & (value - 1)) == 0; }

Status CheckOptions(const EngineOptions& options) {
  const uint32_t page = options.page_size_bytes;
  if (!IsPowerOfTwo(page) || page < kPageSizeMin || page > kPageSizeMax) {
    LogError("The page size must be 4096, 8192, 16384, 32768 or 65536 bytes, not {}.", page);
    return Status(Code::kInvalidArgument, "bad page size");
  }
  if (options.redo_log_capacity_bytes < kLogCapacityBytesMin) {
    LogError("The redo log capacity must be at least 1 MiB, not {} bytes.",
             options.redo_log_capacity_bytes);
    return Status(Code::kInvalidArgument, "redo log capacity too small");
  }
  return Status::Ok();
}

std::string ParentOf(std::string folder) {
  while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
  const size_t slash = folder.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : folder.substr(0, slash);
}

std::array<uint8_t, 16> NewInstanceId() {
  std::random_device source;
  std::array<uint8_t, 16> id;
  for (uint8_t& byte : id) byte = static_cast<uint8_t>(source());
  return id;
}

}  // namespace

Result<std::unique_ptr<Engine>> Engine::Open(FileSystem* file_system,
                                             const EngineOptions& options) {
  RegisterAllRedo();
  Status status = CheckOptions(options);
  if (!status.ok()) return status;
  auto impl = std::make_unique<Impl>();
  impl->file_system = file_system;
  impl->options = options;
  status = impl->AskBeforeCreation();
  if (!status.ok()) return status;
  const Result<bool> existed = file_system->Exists(options.folder);
  impl->folder_made = existed.ok() && !existed.value();
  status = file_system->CreateFolder(options.folder);
  if (!status.ok()) {
    LogError("The folder '{}' cannot be created: {}.", options.folder, status.message());
    return status;
  }
  Result<std::unique_ptr<ControlFile>> control = ControlFile::Open(file_system, options.folder);
  if (control.ok() && (*control)->data().next_table_id != kCreationUnfinished) {
    impl->control = std::move(*control);
    status = impl->Recover(impl->control->data());
  } else if (control.ok() || control.status().Is(Code::kNotFound)) {
    status = impl->CreateInstance();
  } else {
    LogError("The control file in '{}' cannot be used: {}. Nothing was changed.", options.folder,
             control.status().message());
    status = control.status();
  }
  if (!status.ok()) return status;
  if (options.background) impl->StartBackground();
  return std::unique_ptr<Engine>(new Engine(std::move(impl)));
}

Status Engine::Impl::AskBeforeCreation() {
  if (!options.before_creation) return Status::Ok();
  Result<std::vector<std::string>> present = file_system->List(options.folder);
  // An instance, or one whose control file was lost, which is refused later.
  if (present.ok() && !present->empty()) return Status::Ok();
  Result<uint64_t> first_id = options.before_creation();
  if (!first_id.ok()) return first_id.status();
  first_table_id = *first_id;
  return Status::Ok();
}

Status Engine::Impl::OpenFiles() {
  SpaceFiles::Options space_options;
  space_options.folder = options.folder;
  space_options.page_size_bytes = options.page_size_bytes;
  space_options.atomic = options.doublewrite == DoublewriteMode::kAtomic;
  space_options.open_files_max = options.open_files_max;
  files = std::make_unique<SpaceFiles>(file_system, space_options);
  damaged = std::make_unique<DamagedSpaces>(file_system, options.folder);
  return Status::Ok();
}

Status Engine::Impl::OpenLog(Lsn end) {
  LogOptions log_options;
  log_options.folder = options.folder;
  log_options.capacity_bytes = options.redo_log_capacity_bytes;
  log_options.buffer_bytes = options.log_buffer_bytes;
  log_options.sync_method = options.log_sync_method;
  auto opened = Log::Open(file_system, log_options, control.get(), end,
                          [this] { stopped.store(true, std::memory_order_release); });
  if (!opened.ok()) return opened.status();
  log = std::move(*opened);
  return Status::Ok();
}

Status Engine::Impl::OpenPool() {
  // The page size is the instance's: a size that fits another instance may be too small here.
  const uint64_t pool_bytes_min = uint64_t{kPoolPagesMin} * options.page_size_bytes;
  if (options.buffer_pool_bytes < pool_bytes_min) {
    LogWarning("A buffer pool of {} bytes is less than {} pages of {} bytes; it has {} bytes.",
               options.buffer_pool_bytes, kPoolPagesMin, options.page_size_bytes, pool_bytes_min);
    options.buffer_pool_bytes = pool_bytes_min;
  }
  BufferOptions buffer_options;
  buffer_options.pool_bytes = options.buffer_pool_bytes;
  buffer_options.page_size_bytes = options.page_size_bytes;
  buffer_options.doublewrite = options.doublewrite;
  buffer_options.data_sync_method = options.data_sync_method;
  buffer_options.io_backend = options.io_backend;
  buffer_options.io_capacity_pages_per_second = options.io_capacity_pages_per_second;
  buffer_options.cleaners = options.page_cleaners;
  buffer_options.background = options.background;
  auto opened =
      BufferPool::Open(buffer_options, files.get(), file_system, log.get(), control.get());
  if (!opened.ok()) return opened.status();
  pool = std::move(*opened);
  return Status::Ok();
}

Status Engine::Impl::BuildUpperLayers() {
  allocator = std::make_unique<PageAllocator>(pool.get(), control->data().instance_id);
  blobs = std::make_unique<BlobStore>(allocator.get());
  undo = std::make_unique<UndoStreams>(allocator.get());
  lock_memory_bytes_max = options.lock_memory_bytes_max;
  const TxnManagerOptions txn_options{.lock_memory_bytes_max = LockMemoryBytesMax(),
                                      .ring_size = options.commit_ring_entries,
                                      .shutdown_sign = options.shutdown_sign};
  txns = std::make_unique<TxnManager>(undo.get(), log.get(), txn_options);
  temporary = std::make_unique<TemporaryTables>(allocator.get(), blobs.get(), log.get(),
                                                options.shutdown_sign);
  txns->SetIdReserver([this](TxnId next_txn, Csn next_csn) {
    const Status status = control->UpdateBothSlots([&](ControlData& data) {
      data.next_txn_id = std::max(data.next_txn_id, next_txn);
      data.next_csn = std::max(data.next_csn, next_csn);
      data.log_durable_lsn = std::max(data.log_durable_lsn, log->durable());
    });
    if (!status.ok()) log->Stop("writing the control file failed");
    return status;
  });
  return Status::Ok();
}

namespace {

/// Empties a folder in which a creation was cut short. Refuses one that is not ours, or that has an
/// instance without its control file.
Status ClearUnfinished(FileSystem* file_system, const std::string& folder) {
  Result<std::vector<std::string>> present = file_system->List(folder);
  if (!present.ok()) return present.status();
  for (const std::string& name : *present) {
    const bool ours = name.starts_with("space_") || name.starts_with("redo") ||
                      name.starts_with("rowan.");
    if (!ours) {
      LogError("The folder '{}' holds '{}' and no Rowan control file: it is not a Rowan data "
               "folder. Nothing was changed.",
               folder, name);
      return Status(Code::kInvalidArgument, "not a Rowan data folder");
    }
  }
  // Files without a finished control file are left over from a creation that was cut short, unless
  // a control file was lost: then tables may exist and nothing may be touched.
  Result<bool> had_control = file_system->Exists(folder + "/rowan.control");
  if (!had_control.ok()) return had_control.status();
  // The first file of a creation has this name until it is whole.
  const bool just_begun = present->size() == 1 && present->front() == "rowan.control.tmp";
  if (!*had_control && !present->empty() && !just_begun) {
    LogError("The folder '{}' holds Rowan files but no control file. Restore 'rowan.control' or "
             "remove the folder; nothing was changed.",
             folder);
    return Status(Code::kCorrupt, "control file is missing");
  }
  // The control file last: until it goes, a crash leaves what is recognised as unfinished. Its
  // draft is never removed: another process may be writing it just now, and holds its lock.
  Status removed;
  for (const std::string& name : *present) {
    const bool control_file = name == "rowan.control" || name == "rowan.control.tmp";
    if (removed.ok() && !control_file) {
      removed = file_system->Remove(folder + "/" + name);
    }
  }
  if (!*had_control || !removed.ok()) return removed;
  removed = file_system->SyncDirectory(folder);
  return removed.ok() ? file_system->Remove(folder + "/rowan.control") : removed;
}

}  // namespace

Status Engine::Impl::CreateInstance() {
  const Status cleared = ClearUnfinished(file_system, options.folder);
  if (!cleared.ok()) return cleared;
  Status named = file_system->SyncDirectory(ParentOf(options.folder));
  // A folder that was there before may have a parent that only its administrator can open.
  if (!named.ok() && folder_made) return named;
  ControlData data;
  data.instance_id = NewInstanceId();
  data.page_size_bytes = options.page_size_bytes;
  data.epoch = 1;
  data.checkpoint_lsn = Log::kFirstLsn;
  data.next_table_id = kCreationUnfinished;
  data.next_index_id = IndexId(kCatalogIndex.value() + 1);
  Result<std::unique_ptr<ControlFile>> created =
      ControlFile::Create(file_system, options.folder, data);
  if (!created.ok()) {
    LogError("No control file can be created in '{}': {}.", options.folder,
             created.status().message());
    return created.status();
  }
  control = std::move(*created);
  Status status = OpenFiles();
  if (status.ok()) status = OpenLog(kNoLsn);
  if (status.ok()) status = OpenPool();
  if (status.ok()) status = BuildUpperLayers();
  if (status.ok()) status = allocator->CreateSpace(kSystemSpace);
  if (!status.ok()) return status;
  Result<PageNumber> root = Tree::Create(allocator.get(), kSystemSpace, kCatalogIndex);
  if (!root.ok()) return root.status();
  // The system space's counter is where the catalog's root is found again.
  status = allocator->WriteCounter(kSystemSpace, root.value().value());
  if (status.ok()) status = undo->Create();
  if (status.ok()) status = pool->FlushAndCheckpoint();
  if (status.ok()) {
    status = control->Update([this](ControlData& next) {
      next.next_table_id = TableId(std::max(kCatalogTable.value() + 1, first_table_id));
    });
  }
  if (!status.ok()) return status;
  LogInfo("Created a new Rowan instance in '{}' with pages of {} bytes.", options.folder,
          options.page_size_bytes);
  return StartTransactions(control->data());
}

Status Engine::Impl::Recover(const ControlData& control_data) {
  if (options.page_size_bytes != control_data.page_size_bytes) {
    LogWarning("This instance has pages of {} bytes; the page size of {} asked for is ignored.",
               control_data.page_size_bytes, options.page_size_bytes);
    options.page_size_bytes = control_data.page_size_bytes;
  }
  Status status = OpenFiles();
  if (status.ok()) status = damaged->Load();
  if (status.ok()) status = OpenSpaces();
  if (!status.ok()) return status;
  redo_begin_nanos = MonotonicNanos();
  recovery = std::make_unique<Recovery>(file_system, options.folder, control_data,
                                        RecoveryOptionsOf(options), damaged.get());
  status = recovery->Scan();
  if (status.ok()) status = CheckFormatsBeforeRedo(files.get(), recovery->spaces());
  if (status.ok()) status = BufferPool::JudgeDoublewrite(file_system, files.get(), recovery->end());
  // Nothing has been changed up to here: whatever was found missing may still come back.
  if (!status.ok()) return status;
  status = UpgradeInstance(control.get(), options.folder);
  if (!status.ok()) return status;
  status = control->Update([](ControlData& data) {
    ++data.epoch;
    data.clean_shutdown = false;
  });
  if (status.ok()) status = OpenLog(recovery->end());
  if (status.ok()) status = OpenPool();
  if (status.ok()) status = recovery->Repair(pool.get(), files.get());
  // Redo makes pages dirty faster than it could write them by itself.
  if (status.ok()) pool->StartBackground();
  if (status.ok()) status = recovery->Redo();
  if (status.ok()) status = EntrySorter::RemoveLeftovers(file_system, options.folder);
  if (status.ok()) status = files->RemoveTemporary();
  if (status.ok()) status = BuildUpperLayers();
  if (status.ok()) status = recovery->ResolveSuspended(allocator.get());
  if (!status.ok()) return status;
  if (!control_data.clean_shutdown) {
    LogInfo("Crash recovery: the redo log was read from LSN {} to {} in {:.2f} s.",
            control_data.checkpoint_lsn.value(), recovery->end().value(), RedoSeconds());
  }
  recovery->SetOnDamage([this](SpaceId space) { NoteDamage(space); });
  if (options.background && recovery->HasPending()) {
    // Before anything is logged: with the log full, only the end of redo makes room in it.
    redo_thread = std::make_unique<ThreadLoop>("redo", kRedoTick, [this] { return RedoTick(); });
    redo_thread->Start();
  } else {
    status = FinishRedo();
  }
  if (status.ok()) status = StartTransactions(control_data);
  if (!status.ok()) StopRedo(0);
  return status;
}

Status Engine::Impl::OpenSpaces() {
  Result<std::vector<SpaceId>> spaces = files->ListFiles();
  if (!spaces.ok()) return spaces.status();
  for (const SpaceId space : *spaces) {
    const Status status = files->Open(space);
    if (status.ok()) continue;
    LogError("The file '{}' cannot be opened: {} (error {}).", files->PathOf(space),
             status.message(), status.detail());
    // A table's file: the others can be served.
    if (space < kFirstTableSpace) return status;
  }
  for (const SpaceId space : {kSystemSpace, kUndoSpace}) {
    if (!files->IsLive(space)) {
      LogError("The file '{}' is missing: the instance cannot be opened. Nothing was changed.",
               files->PathOf(space));
      return Status(Code::kCorrupt, "system file is missing");
    }
  }
  return Status::Ok();
}

double Engine::Impl::RedoSeconds() const {
  return static_cast<double>(MonotonicNanos() - redo_begin_nanos) / 1e9;
}

Status Engine::Impl::FinishRedo() {
  if (recovery == nullptr || recovery->finished()) return Status::Ok();
  const Status status = recovery->Finish(allocator.get());
  const RecoveryStatistics& done = recovery->statistics();
  if (status.ok() && done.groups != 0) {
    LogInfo("Crash recovery: {} log groups redone ({} of {} records applied) from LSN {} to {}, "
            "{:.2f} s.",
            done.groups, done.records_applied, done.records, recovery->begin().value(),
            recovery->end().value(), RedoSeconds());
  }
  const bool later = status.ok() || status.Is(Code::kBusy) || status.Is(Code::kOutOfMemory) ||
                     status.Is(Code::kInterrupted) || status.Is(Code::kStopped);
  // Logged by its finder: damage of the system or undo space, or no mark could be made.
  if (!later) log->Stop("redo could not be finished");
  if (!status.ok()) return status;
  const std::lock_guard lock(redo_mutex);
  redo_done = true;
  if (!serving) return status;
  // Those that met what could not be read, or a table that is marked now. No file is judged before
  // they are through.
  orphans->NoteRollbackAgain();
  txns->RetryFailedRollbacks();
  // Files that stay all the same are tried again at the next start.
  if (txns->LoserCount() == 0) orphans->NoteRollbackDone().Ignore();
  orphans->NoteRedoDone().Ignore();
  return status;
}

void Engine::Impl::NoteDamage(SpaceId space) {
  const std::lock_guard lock(redo_mutex);
  if (serving) catalog->NoteDamage(space);
}

void Engine::Impl::NoteServing() {
  const std::lock_guard lock(redo_mutex);
  serving = true;
  for (const SpaceId space : damaged->All()) catalog->NoteDamage(space);
  if (redo_done || recovery == nullptr) orphans->NoteRedoDone().Ignore();
}

Status Engine::Impl::StartTransactions(const ControlData& control_data) {
  Status status = allocator->OpenSpace(kSystemSpace);
  if (status.ok()) status = allocator->OpenSpace(kUndoSpace);
  if (!status.ok()) return status;
  Result<uint64_t> root = allocator->ReadCounter(kSystemSpace);
  if (!root.ok()) return root.status();
  catalog = std::make_unique<Catalog>(allocator.get(), PageNumber(static_cast<uint32_t>(*root)),
                                      damaged.get());
  ddl = std::make_unique<DdlLog>(catalog.get(), allocator.get());
  row_undo = std::make_unique<RowUndo>(txns.get(), catalog.get(), blobs.get(), ddl.get());
  txns->SetApplier(row_undo.get());

  std::vector<std::unique_ptr<Txn>> unfinished;
  TxnId txn_max{0};
  Csn csn_max{0};
  status = undo->Recover(&unfinished, &txn_max, &csn_max, options.force_recovery > 0);
  if (!status.ok()) return status;
  std::unordered_set<uint64_t> unfinished_ids;
  for (const auto& txn : unfinished) unfinished_ids.insert(txn->txn_id().value());
  txns->SetNextIds(TxnId(std::max(control_data.next_txn_id.value(), txn_max.value() + 1)),
                   Csn(std::max(control_data.next_csn.value(), csn_max.value() + 1)));
  status = catalog->Load(unfinished_ids);
  if (!status.ok()) return status;
  if (!unfinished.empty()) {
    LogInfo("Crash recovery: {} unfinished transactions; those not prepared are rolled back in the "
            "background.", unfinished.size());
  }
  orphans = std::make_unique<OrphanFiles>(file_system, allocator.get(), catalog.get());
  status = orphans->Collect();
  if (!status.ok()) return status;
  const bool losers = std::any_of(unfinished.begin(), unfinished.end(), [](const auto& txn) {
    return txn->state == TxnState::kActive;
  });
  NoteServing();
  // Without background threads nobody would say so later.
  if (!losers || !options.background) orphans->NoteRollbackDone().Ignore();
  txns->Adopt(std::move(unfinished));
  AdoptIds(control->data());
  return Status::Ok();
}

void Engine::Impl::AdoptIds(const ControlData& control_data) {
  next_space = space_mark = control_data.next_space_id.value();
  next_index = index_mark = control_data.next_index_id.value();
  next_table = table_mark = control_data.next_table_id.value();
}

}  // namespace rowan
