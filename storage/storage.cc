// SPDX-License-Identifier: GPL-2.0-only
#include "storage/storage.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "base/assertions.h"
#include "base/clock.h"
#include "base/logging.h"
#include "buffer/buffer_redo.h"
#include "buffer/pool_memory.h"
#include "io/placed_file.h"
#include "io/process_user.h"
#include "io/shadow_file_system.h"
#include "storage/backup_manifest.h"
#include "storage/carried_file.h"
#include "storage/instance_folder.h"
#include "storage/scrubber.h"
#include "storage/upgrade.h"
#include "wal/redo.h"

namespace rowan {
namespace {

constexpr TableId kCreationUnfinished{0};
/// Until unreadable pages are tried again.
constexpr std::chrono::milliseconds kRedoTick{1000};
constexpr std::chrono::milliseconds kRedoPoll{5};

Status CheckOptions(const StorageOptions& options) {
  if (!IsPageSize(options.page_size_bytes)) {
    LogError("The page size must be 4096, 8192, 16384, 32768 or 65536 bytes, not {}.",
             options.page_size_bytes);
    return Status(Code::kInvalidArgument, "bad page size");
  }
  if (!kLogCapacityLimits.Allow(options.log.capacity_bytes)) {
    LogError("The redo log capacity must be from 1 MiB to 1 TiB, not {} bytes.",
             options.log.capacity_bytes);
    return Status(Code::kInvalidArgument, "redo log capacity out of its limits");
  }
  // Before anything is created. The pool checks again, for the pages of an existing instance.
  return RefusePoolBeyondMemory(options.buffer.pool_bytes, options.page_size_bytes,
                                options.buffer.memory());
}

/// Lists take two bytes for a record of a bulk change and up to ten for one at a random place, and
/// a few dozen per page. If they can list all of the log, nothing is redone before serving, and
/// each page is read once; half of the pool's memory is not yet needed by the pool itself.
uint64_t RedoMemoryBytesMax(const BufferOptions& buffer) {
  constexpr uint64_t kMemoryMin = uint64_t{16} << 20;
  constexpr uint64_t kMemoryUsual = uint64_t{256} << 20;
  const uint64_t wanted = std::max(kMemoryUsual, buffer.pool_bytes / 2);
  return std::max(kMemoryMin, std::min(wanted, buffer.memory().bytes() / 8));
}

/// They wait for reads most of the time.
uint32_t RedoWorkers(bool background) {
  constexpr uint32_t kWorkersMax = 8;
  return background ? std::clamp(std::thread::hardware_concurrency(), 2U, kWorkersMax) : 1;
}

RecoveryOptions RecoveryOptionsOf(const StorageOptions& options) {
  constexpr uint64_t kMemoryMax = uint64_t{16} << 30;  // what RedoBacklog can address, halved
  RecoveryOptions recovery = options.recovery;
  if (recovery.memory_bytes_max == 0) {
    recovery.memory_bytes_max = RedoMemoryBytesMax(options.buffer);
  }
  recovery.memory_bytes_max = std::min(recovery.memory_bytes_max, kMemoryMax);
  if (recovery.workers == 0) recovery.workers = RedoWorkers(options.background);
  return recovery;
}

}  // namespace

Storage::Storage(FileSystem* file_system, const StorageOptions& options, StorageEvents events)
    : shadow_(options.read_only ? std::make_unique<ShadowFileSystem>(file_system) : nullptr),
      file_system_(shadow_ != nullptr ? shadow_.get() : file_system),
      options_(options),
      events_(std::move(events)) {
  if (!options_.read_only) return;
  // Nothing becomes durable anyway, and shadow files have no descriptors.
  options_.buffer.doublewrite = DoublewriteMode::kOff;
  options_.buffer.io_backend = IoBackend::kThreads;
  options_.log.sync_method = LogSyncMethod::kFdatasync;
  options_.recovery.force = true;
}

Storage::~Storage() { Stop(); }

Result<std::unique_ptr<Storage>> Storage::Open(FileSystem* file_system,
                                               const StorageOptions& options,
                                               StorageEvents events) {
  RegisterBufferRedo();
  RegisterSpaceRedo();
  RegisterRedo(RecordType::kCarriedBytes, {.pageless = true});
  const Status checked = CheckOptions(options);
  if (!checked.ok()) return checked;
  std::unique_ptr<Storage> storage(new Storage(file_system, options, std::move(events)));
  const Status opened = storage->OpenOrCreate();
  if (!opened.ok()) return opened;
  return storage;
}

Status Storage::OpenOrCreate() {
  if (events_.before_creation) {
    Result<std::vector<std::string>> present = file_system_->List(options_.folder);
    if (!present.ok() && !present.status().Is(Code::kNotFound)) {
      LogError(
          "The folder '{}' cannot be read by user {} (error {}): whether it holds an instance is "
          "not known. Nothing was changed; make it readable and start again.",
          options_.folder, ProcessUser(), present.status().detail());
      return present.status();
    }
    // An instance, or one whose control file was lost, which is refused later.
    const bool there = present.ok() && !present->empty();
    const Status allowed = there ? Status::Ok() : events_.before_creation();
    if (!allowed.ok()) return allowed;
  }
  Result<bool> made = MakeInstanceFolder(file_system_, options_.folder);
  if (!made.ok()) return made.status();
  Result<std::unique_ptr<ControlFile>> control = ControlFile::Open(file_system_, options_.folder);
  if (control.ok() && (*control)->data().next_table_id != kCreationUnfinished) {
    control_ = std::move(*control);
    return Recover();
  }
  if (!control.ok() && !control.status().Is(Code::kNotFound)) {
    LogError("The control file in '{}' cannot be used: {}. Nothing was changed.", options_.folder,
             control.status().message());
    return control.status();
  }
  if (options_.read_only) {
    LogError("The folder '{}' holds no Rowan instance that could be read.", options_.folder);
    return Status(Code::kReadOnly, "no instance to read");
  }
  const Status cleared = ClearInstanceFolder(file_system_, options_.folder, *made);
  if (!cleared.ok()) return cleared;
  return Create();
}

void Storage::MakeFiles() {
  files_ = std::make_unique<SpaceFiles>(file_system_, options_.folder, options_.page_size_bytes,
                                        options_.files);
  damaged_ = std::make_unique<DamagedSpaces>(file_system_, options_.folder);
}

Status Storage::OpenLog(Lsn end) {
  ROWAN_DCHECK(control_ != nullptr && log_ == nullptr);
  auto opened = Log::Open(file_system_, options_.log, control_.get(), end);
  if (!opened.ok()) return opened.status();
  log_ = std::move(*opened);
  return Status::Ok();
}

Status Storage::OpenPool() {
  ROWAN_DCHECK(files_ != nullptr && pool_ == nullptr);
  // The page size is the instance's: a size that fits another instance may be too small here.
  const uint64_t pool_bytes_min = uint64_t{kPoolPagesMin} * options_.page_size_bytes;
  if (options_.buffer.pool_bytes < pool_bytes_min) {
    LogWarning("A buffer pool of {} bytes is less than {} pages of {} bytes; it has {} bytes.",
               options_.buffer.pool_bytes, kPoolPagesMin, options_.page_size_bytes, pool_bytes_min);
    options_.buffer.pool_bytes = pool_bytes_min;
  }
  auto opened =
      BufferPool::Open(options_.buffer, files_.get(), file_system_, log_.get(), control_.get());
  if (!opened.ok()) return opened.status();
  pool_ = std::move(*opened);
  pool_->SetDamageNamer(events_.name_damaged);
  if (options_.read_only) return Status::Ok();
  auto tail = recovery_ == nullptr ? nullptr : recovery_->TakeCarried();
  carried_file_ =
      std::make_unique<CarriedFile>(file_system_, log_.get(), control_.get(), std::move(tail));
  pool_->SetCheckpointGate(carried_file_.get());
  return Status::Ok();
}

void Storage::MakeAllocator() {
  ROWAN_DCHECK(pool_ != nullptr && allocator_ == nullptr);
  allocator_ = std::make_unique<PageAllocator>(pool_.get(), control_->data().instance_id);
  blobs_ = std::make_unique<BlobStore>(allocator_.get());
  scrubber_ = std::make_unique<Scrubber>(this);
}

Status Storage::Create() {
  is_new_ = true;
  ControlData data;
  data.instance_id = DrawId();
  data.page_size_bytes = options_.page_size_bytes;
  data.epoch = 1;
  data.checkpoint_lsn = Log::kFirstLsn;
  data.next_table_id = kCreationUnfinished;
  Result<std::unique_ptr<ControlFile>> created =
      ControlFile::Create(file_system_, options_.folder, data);
  if (!created.ok()) {
    LogError("No control file can be created in '{}': {}.", options_.folder,
             created.status().message());
    return created.status();
  }
  control_ = std::move(*created);
  MakeFiles();
  Status status = OpenLog(kNoLsn);
  if (!status.ok()) return status;
  status = OpenPool();
  if (!status.ok()) return status;
  MakeAllocator();
  return allocator_->CreateSpace(kSystemSpace);
}

Status Storage::FinishCreation(ControlChange change) {
  Status status = pool_->FlushAndCheckpoint(FlushReason::kStart);
  if (!status.ok()) return status;
  status = control_->Update(change);
  if (!status.ok()) return status;
  ROWAN_CHECK(control_->data().next_table_id != kCreationUnfinished);
  LogInfo("Created a new Rowan instance in '{}' with pages of {} bytes.", options_.folder,
          options_.page_size_bytes);
  return status;
}

void Storage::AdoptPageSize(uint32_t page_size_bytes) {
  if (options_.page_size_bytes == page_size_bytes) return;
  LogWarning("This instance has pages of {} bytes; the page size of {} asked for is ignored.",
             page_size_bytes, options_.page_size_bytes);
  options_.page_size_bytes = page_size_bytes;
}

Status Storage::OpenSpaces() {
  Result<std::vector<SpaceId>> spaces = files_->ListFiles();
  if (!spaces.ok()) return spaces.status();
  for (const SpaceId space : *spaces) {
    const Status status = files_->Open(space);
    if (status.ok()) continue;
    const std::string place = files_->PlaceOf(space);
    // If a file is missing from an existing folder, no missing disk explains it.
    const Result<bool> reachable = file_system_->Exists(FolderOf(place));
    const bool away = IsPlaceMissing(status) && reachable.ok() && !reachable.value();
    LogError("The file '{}' cannot be opened: {} (error {}).{}", place, status.message(),
             status.detail(),
             away ? " Is its disk mounted? Until it is there its table cannot be used; the others "
                    "can."
                  : "");
    // A table's file: the others can be served.
    if (space < kFirstTableSpace) return status;
  }
  for (const SpaceId space : {kSystemSpace, kUndoSpace}) {
    if (files_->IsLive(space)) continue;
    LogError("The file '{}' is missing: the instance cannot be opened. Nothing was changed.",
             files_->PathOf(space));
    return Status(Code::kCorrupt, "system file is missing");
  }
  return Status::Ok();
}

Status Storage::LookForBackup() {
  Result<BackupManifest> manifest = ReadBackupManifest(file_system_, options_.folder);
  if (manifest.status().Is(Code::kNotFound)) return Status::Ok();
  if (!manifest.ok()) {
    LogError("The backup in '{}' cannot be restored: {}. Nothing was changed.", options_.folder,
             manifest.status().message());
    return manifest.status();
  }
  is_restored_ = true;
  LogInfo("The instance in '{}' was restored from a backup; it is as it was at LSN {}.",
          options_.folder, manifest->end.value());
  return Status::Ok();
}

Status Storage::EndRestore() {
  Status status = log_->WaitDurable(log_->tail());
  if (!status.ok()) return status;
  ROWAN_DCHECK(is_restored_);
  status = file_system_->Remove(options_.folder + "/" + kBackupManifestName);
  if (!status.ok()) return status;
  status = file_system_->SyncDirectory(options_.folder);
  if (!status.ok()) return status;
  is_restored_ = false;
  return status;
}

Status Storage::Recover() {
  const ControlData control_data = control_->data();
  AdoptPageSize(control_data.page_size_bytes);
  MakeFiles();
  redo_begin_nanos_ = MonotonicNanos();
  recovery_ = std::make_unique<Recovery>(file_system_, options_.folder, control_data,
                                         RecoveryOptionsOf(options_), damaged_.get());
  Status status = LookForBackup();
  if (!status.ok()) return status;
  status = CheckInstance();
  // Nothing has been changed up to here: what was found missing may still come back.
  if (!status.ok()) return status;
  status = UpgradeInstance(control_.get(), options_.folder);
  if (!status.ok()) return status;
  status = RedoFirst();
  if (!status.ok()) return status;
  is_after_crash_ = !control_data.clean_shutdown;
  if (is_after_crash_) {
    LogInfo("Crash recovery: the redo log was read from LSN {} to {} in {:.2f} s.",
            control_data.checkpoint_lsn.value(), recovery_->end().value(), RedoSeconds());
  }
  const bool carried = carried_file_ != nullptr && carried_file_->tail() != nullptr;
  if (carried && events_.settle_carried) status = events_.settle_carried(carried_file_.get());
  if (!status.ok()) return status;
  return DeferRedo();
}

Status Storage::CheckInstance() {
  Status status = damaged_->Load();
  if (!status.ok()) return status;
  status = recovery_->LoadKept();
  if (!status.ok()) return status;
  status = OpenSpaces();
  if (!status.ok()) return status;
  status = recovery_->Scan();
  if (!status.ok()) return status;
  status = recovery_->CheckPlaces(files_.get());
  if (!status.ok()) return status;
  status = CheckFormatsBeforeRedo(files_.get(), recovery_->spaces());
  if (!status.ok()) return status;
  return BufferPool::CheckDoublewrite(file_system_, files_.get(), recovery_->end());
}

Status Storage::RedoFirst() {
  ROWAN_DCHECK(recovery_ != nullptr && log_ == nullptr && pool_ == nullptr);
  Status status = control_->Update([](ControlData& data) {
    ++data.epoch;
    data.clean_shutdown = false;
  });
  if (!status.ok()) return status;
  status = OpenLog(recovery_->end());
  if (!status.ok()) return status;
  status = OpenPool();
  if (!status.ok()) return status;
  status = recovery_->Repair(pool_.get(), files_.get(), control_.get());
  if (!status.ok()) return status;
  // Redo makes pages dirty faster than it could write them by itself.
  status = StartBackground();
  if (!status.ok()) return status;
  status = recovery_->Redo();
  if (!status.ok()) return status;
  status = files_->RemoveTemporary();
  if (!status.ok()) return status;
  MakeAllocator();
  return recovery_->ResolveSuspended(allocator_.get());
}

Status Storage::DeferRedo() {
  ROWAN_DCHECK(allocator_ != nullptr && redo_thread_ == nullptr);
  recovery_->SetOnDamage([this](SpaceId space) {
    if (events_.space_damaged) events_.space_damaged(space);
  });
  // What is kept of a marked table is removed when that is dropped.
  const bool pending = recovery_->HasPending() || !recovery_->kept().empty();
  if (!options_.background || !pending) {
    return FinishRedo(options_.recovery.force ? Recovery::Try::kLast : Recovery::Try::kOneOfSome);
  }
  // Before anything is logged: with the log full, only the end of redo makes room in it.
  redo_thread_ = std::make_unique<ThreadLoop>("redo", kRedoTick, [this] { return RedoTick(); });
  return redo_thread_->Start();
}

Status Storage::StartBackground() {
  return options_.background ? pool_->StartBackground() : Status::Ok();
}

double Storage::RedoSeconds() const {
  return static_cast<double>(MonotonicNanos() - redo_begin_nanos_) / 1e9;
}

void Storage::LogRedoDone() const {
  const RecoveryStatistics& done = recovery_->statistics();
  if (done.groups == 0) return;
  LogInfo(
      "Crash recovery: {} log groups redone ({} of {} records applied) from LSN {} to {}, "
      "{:.2f} s.",
      done.groups, done.records_applied, done.records, recovery_->begin().value(),
      recovery_->end().value(), RedoSeconds());
}

bool Storage::IsLogShort() const {
  return log_->tail() - recovery_->begin() > log_->capacity_bytes() / 4 * 3;
}

Status Storage::FinishRedo(Recovery::Try which) {
  if (!redoing()) return Status::Ok();
  {
    const MutexLock lock(&redo_mutex_);
    if (recovery_->finished()) return Status::Ok();
    if (IsLogShort()) which = Recovery::Try::kLast;
    const Status status = recovery_->Finish(allocator_.get(), which);
    const bool later = status.Is(Code::kBusy) || status.Is(Code::kOutOfMemory) ||
                       status.Is(Code::kInterrupted) || status.Is(Code::kStopped);
    // Logged where it was found: damage of the system or undo space, or no mark could be made.
    if (!status.ok() && !later) log_->Stop("redo could not be finished");
    if (!status.ok()) return status;
  }
  LogRedoDone();
  if (events_.redo_done) events_.redo_done();
  return Status::Ok();
}

ThreadLoop::Next Storage::RedoTick() {
  // A failure has stopped the log, or the storage is closing: the next start begins again.
  if (stopped()) return ThreadLoop::Next::kWait;
  FinishRedo().Ignore();
  const MutexLock lock(&redo_mutex_);
  if (recovery_->keeps()) recovery_->RetryKept(allocator_.get()).Ignore();  // tried again
  return ThreadLoop::Next::kWait;
}

void Storage::StopRedo(uint64_t deadline_nanos) {
  if (redo_thread_ == nullptr) return;
  if (deadline_nanos != UINT64_MAX) {
    const auto works = [this] { return redoing() && !stopped() && !recovery_->waits(); };
    while (works() && MonotonicNanos() < deadline_nanos) std::this_thread::sleep_for(kRedoPoll);
    if (works()) recovery_->Abandon();
  }
  redo_thread_.reset();
}

Status Storage::WriteAll(const Closing& closing) {
  Status status = FinishRedo(Recovery::Try::kLast);
  if (!status.ok()) return status;
  if (recovery_ != nullptr && recovery_->keeps()) {
    recovery_->RetryKept(allocator_.get()).Ignore();  // the next start tries again
  }
  if (closing.last_changes) status = closing.last_changes();
  if (!status.ok()) return status;
  const uint64_t deadline = closing.deadline_nanos;
  return pool_->FlushAndCheckpoint(FlushReason::kShutdown, [deadline] {
    return deadline != UINT64_MAX && MonotonicNanos() >= deadline;
  });
}

Status Storage::CloseLog(const Status& written, const std::function<void(ControlData&)>& marks) {
  const Status status = log_->Close();
  if (!written.ok() && !written.Is(Code::kInterrupted)) return written;
  if (!status.ok()) return status;
  if (!written.ok()) {
    LogInfo(
        "The time for the shutdown was over before all changed pages were written. Nothing is "
        "lost: the redo log has the rest, and the next start redoes it while it serves.");
    return status;
  }
  return control_->Update([this, &marks](ControlData& data) {
    data.clean_shutdown = true;
    data.log_durable_lsn = log_->durable();
    if (marks) marks(data);
  });
}

Status Storage::Close(const Closing& closing) {
  if (options_.read_only || carried_file_->tail() != nullptr) {
    Stop();
    return Status::Ok();
  }
  StopRedo(closing.deadline_nanos);
  Status written = carried_file_->End();
  if (written.ok()) written = WriteAll(closing);
  pool_->Close();
  // Its pages have been written: a start that checked the copies there would need files that lost
  // nothing.
  if (written.ok()) written = pool_->EmptyDoublewrite();
  files_->RemoveTemporary().Ignore();  // the next start tries again
  const Status status = CloseLog(written, closing.marks);
  if (!status.ok()) {
    LogError("Shutdown could not make everything durable ({}); the next start will recover.",
             status.message());
  }
  return status;
}

void Storage::Stop() {
  StopRedo(0);
  if (pool_ != nullptr) pool_->Close();
}

Status Storage::ReserveIds(ControlChange change) {
  const Status status = control_->UpdateBothSlots([&](ControlData& data) {
    change(data);
    data.log_durable_lsn = std::max(data.log_durable_lsn, log_->durable());
  });
  if (!status.ok()) log_->Stop("writing the control file failed");
  return status;
}

}  // namespace rowan
