// SPDX-License-Identifier: GPL-2.0-only
#include "storage/backup.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/counters.h"
#include "base/crc32c.h"
#include "base/logging.h"
#include "buffer/page/page_header.h"
#include "buffer/page/page_lsn_base.h"
#include "io/placed_file.h"

namespace rowan {
namespace {

constexpr size_t kBatchBytes = size_t{1} << 20;
/// A write of a page takes some milliseconds, on a slow disk some hundred.
constexpr int kReadTries = 200;
constexpr std::chrono::milliseconds kReadPause{5};
constexpr std::chrono::milliseconds kPacePause{20};

std::string ParentOf(const std::string& folder) {
  const size_t slash = folder.find_last_of('/');
  return slash == std::string::npos || slash == 0 ? std::string() : folder.substr(0, slash);
}

bool IsZero(Bytes page) {
  return std::all_of(page.begin(), page.end(), [](std::byte byte) { return byte == std::byte{0}; });
}

}  // namespace

Backup::Backup(Storage* storage, const BackupOptions& options)
    : storage_(storage),
      options_(options),
      log_({.file_system = storage->file_system(),
            .log = storage->log(),
            .instance_id = storage->control()->data().instance_id,
            .source = storage->options().folder,
            .target = options.folder,
            // The checkpoint is behind the end of the log by up to its capacity.
            .bytes_max = storage->log()->capacity_bytes() + options.log_bytes_max}),
      buffer_(kBatchBytes) {
  manifest_.instance_id = storage->control()->data().instance_id;
  manifest_.page_size_bytes = storage->options().page_size_bytes;
}

Backup::~Backup() = default;

Result<std::unique_ptr<Backup>> Backup::Begin(Storage* storage, const BackupOptions& options) {
  if (storage->redoing()) {
    LogError("A backup has to wait until the pages of the last run are redone.");
    return Status(Code::kBusy, "the pages of the last run are still being redone");
  }
  std::unique_ptr<Backup> backup(new Backup(storage, options));
  Status status = backup->Prepare();
  if (!status.ok()) return status;
  const Result<Lsn> start = backup->log_.Start();
  if (!start.ok()) return start.status();
  backup->manifest_.start = start.value();
  LogInfo("A backup to '{}' begins at LSN {}.", options.folder, start.value().value());
  return backup;
}

Status Backup::Prepare() {
  FileSystem* files = storage_->file_system();
  Status status = ReadBase();
  if (!status.ok()) return status;
  for (const std::string& folder : {ParentOf(options_.folder), options_.folder}) {
    if (folder.empty()) continue;
    status = files->CreateFolder(folder);
    if (status.ok()) continue;
    LogError("The folder '{}' for a backup cannot be made: {} (error {}).", folder,
             status.message(), status.detail());
    return status;
  }
  const Result<std::vector<std::string>> present = files->List(options_.folder);
  if (!present.ok()) return present.status();
  if (present.value().empty()) return Status::Ok();
  LogError("The folder '{}' for a backup is not empty.", options_.folder);
  return Status(Code::kInvalidArgument, "the folder for the backup is not empty");
}

Status Backup::ReadBase() {
  if (options_.base.empty()) return Status::Ok();
  Result<BackupManifest> base = ReadBackupManifest(storage_->file_system(), options_.base);
  if (!base.ok()) {
    LogError("The folder '{}' holds no backup that another one can be incremental to: {}.",
             options_.base, base.status().message());
    return base.status();
  }
  if (base->instance_id != manifest_.instance_id) {
    LogError("The backup in '{}' is one of another instance.", options_.base);
    return Status(Code::kInvalidArgument, "the base is a backup of another instance");
  }
  manifest_.since = base->start;
  base_ = std::move(base).value();
  return Status::Ok();
}

Status Backup::CopyPages(FunctionRef<bool()> interrupted) {
  begin_nanos_ = MonotonicNanos();
  bytes_read_ = 0;
  for (const SpaceId space : storage_->damaged()->Waiting()) {
    LogError("The backup to '{}' fails: changes of the file '{}' wait until it can be read.",
             options_.folder, storage_->files()->PlaceOf(space));
    return Status(Code::kBusy, "changes of a table's file wait until it can be read");
  }
  Result<std::vector<SpaceId>> spaces = storage_->files()->ListFiles();
  if (!spaces.ok()) return spaces.status();
  for (const SpaceId space : spaces.value()) {
    if (manifest_.spaces.contains(space)) continue;
    Status status = CheckPlace(space);
    if (!status.ok()) return status;
    // A file that nobody opened belongs to no table.
    if (!storage_->files()->IsLive(space)) continue;
    status = CopySpace(space, interrupted);
    if (!status.ok() && !status.Is(Code::kNotFound)) return status;  // or dropped meanwhile
  }
  return Status::Ok();
}

Status Backup::CheckPlace(SpaceId space) const {
  SpaceFiles* const files = storage_->files();
  const std::string place = files->PlaceOf(space);
  if (files->IsLive(space) || place == files->PathOf(space)) return Status::Ok();
  // It may be there by now, though no statement has used it.
  const Status status = files->Open(space);
  if (!IsPlaceMissing(status)) return Status::Ok();
  const Result<bool> reachable = storage_->file_system()->Exists(FolderOf(place));
  const bool away = reachable.ok() && !reachable.value();
  LogError("The backup to '{}' fails: the file '{}' is missing.{}", options_.folder, place,
           away ? " Is its disk mounted?" : "");
  return status;
}

Status Backup::CopySpace(SpaceId space, FunctionRef<bool()> interrupted) {
  const Result<uint32_t> pages = storage_->files()->PageCount(space);
  if (!pages.ok()) return pages.status();
  const BackupPages::Space about{
      storage_->file_system(),   options_.folder, manifest_.instance_id, space,
      manifest_.page_size_bytes, pages.value(),   manifest_.since};
  const bool changes_only = base_.has_value() && base_->spaces.contains(space);
  Result<std::unique_ptr<BackupPages>> copy =
      changes_only ? MakeBackupDelta(about) : MakeBackupFile(about);
  if (!copy.ok()) return copy.status();
  const auto batch = static_cast<uint32_t>(buffer_.size() / manifest_.page_size_bytes);
  for (uint32_t first = 0; first < pages.value(); first += batch) {
    const uint32_t count = std::min(batch, pages.value() - first);
    const MutableBytes images = buffer_.span().first(size_t{count} * manifest_.page_size_bytes);
    Status status = ReadBatch(space, PageNumber(first), images);
    if (!status.ok()) return status;
    status = copy.value()->Add(PageNumber(first), images);
    if (!status.ok()) return status;
    status = WaitForPace(interrupted);
    if (!status.ok()) return status;
  }
  const Status status = copy.value()->Finish();
  if (status.ok()) manifest_.spaces[space] = pages.value();
  return status;
}

Status Backup::ReadBatch(SpaceId space, PageNumber first, MutableBytes images) {
  {
    Result<SpaceFiles::Location> location =
        storage_->files()->Locate({space, first}, SpaceFiles::Use::kRead);
    if (!location.ok()) return location.status();
    const Status status = location->file->Read(location->offset, images);
    if (!status.ok()) return status;
  }
  const size_t page_size = manifest_.page_size_bytes;
  bytes_read_ += images.size();
  AddCounter(Counter::kBackupPagesRead, images.size() / page_size);
  for (size_t at = 0; at < images.size(); at += page_size) {
    const PageId page{space, PageNumber(first.value() + static_cast<uint32_t>(at / page_size))};
    const Status status = MakeGood(page, images.subspan(at, page_size));
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

std::string Backup::WrongWith(PageId page, Bytes image) const {
  // Never written, or given back.
  return IsZero(image) ? std::string() : storage_->pool()->WrongWith(image, page);
}

Status Backup::MakeGood(PageId page, MutableBytes image) {
  std::string wrong = WrongWith(page, image);
  if (wrong.empty() || storage_->damaged()->Contains(page.space)) return Status::Ok();
  const Status status = ReadAgain(page, image, &wrong);
  if (!status.ok() || wrong.empty()) return status;
  const Result<bool> used = storage_->allocator()->IsAllocated(page);
  if (used.ok() && !used.value()) return Status::Ok();
  LogError("The backup to '{}' fails: page {} of '{}' is damaged: {}.", options_.folder,
           page.page.value(), storage_->files()->PathOf(page.space), wrong);
  return Status(Code::kCorrupt, "a page is damaged, the error log names it", page.page.value());
}

Status Backup::ReadAgain(PageId page, MutableBytes image, std::string* wrong) {
  for (int i = 0; i < kReadTries; ++i) {
    if (i > 0) std::this_thread::sleep_for(kReadPause);
    const Status status = storage_->files()->ReadPage(page, image);
    if (!status.ok()) return status;
    *wrong = WrongWith(page, image);
    if (wrong->empty()) break;
  }
  AddCounter(Counter::kBackupPagesReadAgain);
  return Status::Ok();
}

Status Backup::WaitForPace(FunctionRef<bool()> interrupted) {
  const uint64_t pace = options_.bytes_per_second_max;
  do {
    if (interrupted()) return Status(Code::kInterrupted, "the backup was interrupted");
    const double seconds = static_cast<double>(MonotonicNanos() - begin_nanos_) / 1e9;
    if (pace == 0 || static_cast<double>(bytes_read_) / static_cast<double>(pace) <= seconds) break;
    std::this_thread::sleep_for(kPacePause);
  } while (true);
  return Status::Ok();
}

Status Backup::Finish(Lsn end) {
  const Status status = WriteRest(end);
  if (!status.ok()) {
    LogError("The backup to '{}' fails: {} (error {}).", options_.folder, status.message(),
             status.detail());
    return status;
  }
  LogInfo("The backup to '{}' is finished: from LSN {} to {}, {} tablespaces.", options_.folder,
          manifest_.start.value(), manifest_.end.value(), manifest_.spaces.size());
  return status;
}

Status Backup::WriteRest(Lsn end) {
  if (end == kNoLsn) {
    const Status status = CopyPages([] { return false; });
    if (!status.ok()) return status;
    end = storage_->log()->tail();
  }
  if (end > storage_->log()->tail() || end < manifest_.start) {
    return Status(Code::kInvalidArgument, "the end of a backup is not in the redo log");
  }
  manifest_.end = end;
  Status status = storage_->log()->WaitDurable(end);
  if (!status.ok()) return status;
  status = log_.Finish(end);
  if (!status.ok()) return status;
  return WriteSmallFiles();
}

Status Backup::WriteSmallFiles() {
  Status status = CopyMarks();
  if (!status.ok()) return status;
  status = WriteEmptyPageLsns();
  if (!status.ok()) return status;
  status = WriteControlFile();
  if (!status.ok()) return status;
  FileSystem* files = storage_->file_system();
  status = files->SyncDirectory(options_.folder);
  if (!status.ok()) return status;
  // Whoever finds it finds all the rest.
  status = WriteBackupManifest(files, options_.folder, manifest_);
  if (!status.ok()) return status;
  return files->SyncDirectory(options_.folder);
}

Status Backup::WriteControlFile() {
  ControlData data = storage_->control()->data();
  // Ids that were handed out up to the end are below the marks of now.
  data.checkpoint_lsn = manifest_.start;
  data.log_durable_lsn = manifest_.end;
  data.clean_shutdown = false;
  return ControlFile::Create(storage_->file_system(), options_.folder, data).status();
}

Status Backup::WriteEmptyPageLsns() {
  // The instance's own would tell of pages as they are later than their copies.
  Result<std::unique_ptr<File>> file =
      storage_->file_system()->Open(options_.folder + "/" + kPageLsnsFileName, {.create = true});
  if (!file.ok()) return file.status();
  const uint32_t instance = Crc32c(std::as_bytes(std::span(manifest_.instance_id)));
  return PageLsnBaseWriter(std::move(file).value(), instance).Finish();
}

Status Backup::CopyMarks() {
  const DamagedSpaces* damaged = storage_->damaged();
  DamagedSpaces copies(storage_->file_system(), options_.folder);
  for (const SpaceId space : damaged->All()) {
    const Status status =
        copies.Mark(space, "It was marked when the backup was made that this is restored from.");
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

}  // namespace rowan
