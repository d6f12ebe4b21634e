// SPDX-License-Identifier: GPL-2.0-only
#include "storage/backup.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/counters.h"
#include "base/crc32c.h"
#include "base/logging.h"
#include "buffer/page/page_header.h"
#include "buffer/page/page_lsn_base.h"
#include "io/placed_file.h"
#include "space/space_pages.h"

namespace rowan {
namespace {

constexpr size_t kBatchBytes = size_t{1} << 20;
/// A write of a page takes some milliseconds, on a slow disk some hundred.
constexpr int kReadTries = 200;
constexpr std::chrono::milliseconds kReadPause{5};
constexpr std::chrono::milliseconds kPacePause{20};
/// Ends chosen for a backup while tables are created; each but the last copies the new ones.
constexpr int kEndTries = 1000;

}  // namespace

Backup::Backup(BackupSource source, const BackupOptions& options)
    : storage_(source.storage),
      tables_(std::move(source.tables)),
      options_(options),
      log_({.file_system = storage_->file_system(),
            .log = storage_->log(),
            .instance_id = storage_->control()->data().instance_id,
            .source = storage_->options().folder,
            .target = options.folder,
            // The checkpoint is behind the end of the log by up to its capacity.
            .bytes_max = storage_->log()->capacity_bytes() + options.log_bytes_max}),
      buffer_(kBatchBytes),
      bitmap_(storage_->options().page_size_bytes) {
  const ControlData control = storage_->control()->data();
  manifest_.instance_id = control.instance_id;
  manifest_.history = control.history;
  manifest_.page_size_bytes = storage_->options().page_size_bytes;
}

Backup::~Backup() = default;

Result<std::unique_ptr<Backup>> Backup::Begin(BackupSource source, const BackupOptions& options) {
  if (source.storage->redoing()) {
    LogError("A backup has to wait until the pages of the last run are redone.");
    return Status(Code::kBusy, "the pages of the last run are still being redone");
  }
  std::unique_ptr<Backup> backup(new Backup(std::move(source), options));
  Status status = backup->Prepare();
  if (!status.ok()) return status;
  const Result<Lsn> start = backup->log_.Start();
  if (!start.ok()) return start.status();
  backup->manifest_.start = start.value();
  LogInfo("A backup to '{}' begins at LSN {}.", options.folder, start.value().value());
  return backup;
}

Status Backup::MakeFolder(const std::string& folder) {
  FileSystem* const files = storage_->file_system();
  const Result<bool> there = files->Exists(folder);
  if (folder == "/" || (there.ok() && there.value())) return Status::Ok();
  Status status = files->CreateFolder(folder);
  if (status.ok()) {
    status = files->SyncDirectory(FolderOf(folder));
    if (status.ok()) return status;
  }
  LogError("The folder '{}' for a backup cannot be made: {} (error {}).", folder, status.message(),
           status.detail());
  return status;
}

Status Backup::Prepare() {
  Status status = ReadBase();
  if (!status.ok()) return status;
  const std::string& folder = options_.folder;
  for (const std::string& made : {FolderOf(folder), folder}) {
    status = MakeFolder(made);
    if (!status.ok()) return status;
  }
  const Result<std::vector<std::string>> present = storage_->file_system()->List(folder);
  if (!present.ok()) return present.status();
  if (present.value().empty()) return Status::Ok();
  LogError("The folder '{}' for a backup is not empty.", folder);
  return Status(Code::kInvalidArgument, "the folder for the backup is not empty");
}

Status Backup::ReadBase() {
  if (options_.base.empty()) return Status::Ok();
  if (options_.clone) {
    return Status(Code::kInvalidArgument, "what changed since a backup cannot be cloned");
  }
  Result<BackupManifest> base = ReadBackupManifest(storage_->file_system(), options_.base);
  if (!base.ok()) {
    LogError("The folder '{}' holds no backup that another one can be incremental to: {}.",
             options_.base, base.status().message());
    return base.status();
  }
  const Status status = CheckBase(*base);
  if (!status.ok()) return status;
  manifest_.since = base->start;
  base_ = std::move(base).value();
  return Status::Ok();
}

Status Backup::CheckBase(const BackupManifest& base) const {
  if (base.instance_id != manifest_.instance_id) {
    LogError("The backup in '{}' is one of another instance.", options_.base);
    return Status(Code::kInvalidArgument, "the base is a backup of another instance");
  }
  if (base.version < kChecksummedManifest) {
    LogError(
        "An earlier version of Rowan made the backup in '{}' and did not note the history of the "
        "instance: make a full backup.",
        options_.base);
    return Status(Code::kInvalidArgument, "the base does not tell the history of its instance");
  }
  if (base.IsBranch()) {
    LogError("The backup in '{}' is a branch, of which nobody has looked at the pages.",
             options_.base);
    return Status(Code::kInvalidArgument, "the base is a branch");
  }
  if (IsPast(base.history, base.end, manifest_.history, storage_->log()->tail())) {
    return Status::Ok();
  }
  LogError(
      "The backup in '{}' is not in the past of this instance, which was restored from a backup, "
      "was copied, lost the end of its log or was started more than {} times since: make a full "
      "backup.",
      options_.base, kLogRunsMax);
  return Status(Code::kInvalidArgument, "the base is of another history of the instance");
}

Status Backup::CopyPages(FunctionRef<bool()> interrupted) {
  begin_nanos_ = MonotonicNanos();
  bytes_read_ = 0;
  for (const SpaceId space : storage_->damaged()->Waiting()) {
    LogError("The backup to '{}' fails: changes of the file '{}' wait until it can be read.",
             options_.folder, storage_->files()->PlaceOf(space));
    return Status(Code::kBusy, "changes of a table's file wait until it can be read");
  }
  tables_now_ = tables_();
  Result<std::vector<SpaceId>> spaces = storage_->files()->ListFiles();
  if (!spaces.ok()) return spaces.status();
  for (const SpaceId space : spaces.value()) {
    // A file that is not open is being made, belongs to a table handled below, or belongs to none.
    if (IsDone(space) || !storage_->files()->IsLive(space)) continue;
    const Status status = CopySpace(space, interrupted);
    if (!status.ok()) return status;
  }
  for (const auto& [space, name] : tables_()) {
    if (IsDone(space) || storage_->files()->IsLive(space)) continue;
    const Status status = CopyTable(space, name, interrupted);
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

Status Backup::CopyTable(SpaceId space, const std::string& name, FunctionRef<bool()> interrupted) {
  // It may exist by now, though no statement has used it.
  const Status opened = storage_->files()->Open(space);
  if (opened.ok()) return CopySpace(space, interrupted);
  // A table is forgotten before its file is removed.
  if (!tables_().contains(space)) return Status::Ok();
  if (storage_->damaged()->Contains(space)) {
    manifest_.left_out[space] = name;  // as in the instance: it can only be dropped
    return Status::Ok();
  }
  if (!IsPlaceMissing(opened)) return Unreadable(space, opened);
  const std::string place = storage_->files()->PlaceOf(space);
  const Result<bool> reachable = storage_->file_system()->Exists(FolderOf(place));
  const bool away = reachable.ok() && !reachable.value();
  LogError("The file '{}' of table {} is missing.{}", place, name,
           away ? " Is its disk mounted?" : "");
  return Unreadable(space, opened);
}

Status Backup::Unreadable(SpaceId space, const Status& why) {
  const auto tables = tables_();
  const auto table = tables.find(space);
  const std::string name = table == tables.end() ? std::string() : table->second;
  const std::string path = storage_->files()->PathOf(space);
  const bool of_file = why.Is(Code::kIoError) || why.Is(Code::kNotFound) || why.Is(Code::kCorrupt);
  if (!options_.leave_out_unreadable || !of_file || name.empty()) {
    LogError("The backup to '{}' fails: the file '{}'{} cannot be read: {} (error {}).",
             options_.folder, path, name.empty() ? name : " of table " + name, why.message(),
             why.detail());
    // A missing file is no reason to continue without it.
    return why.Is(Code::kNotFound) ? Status(Code::kIoError, why.message(), ENOENT) : why;
  }
  LogWarning(
      "The backup to '{}' leaves table {} out, as it was told to: the file '{}' cannot be read: {} "
      "(error {}).",
      options_.folder, name, path, why.message(), why.detail());
  manifest_.left_out[space] = name;
  return Status::Ok();
}

Status Backup::TryCloneSpace(SpaceId space, FunctionRef<bool()> interrupted) {
  if (!options_.clone) return Status(Code::kUnsupported);
  if (interrupted()) return Status(Code::kInterrupted, "the backup was interrupted");
  const Result<uint32_t> pages = CloneSpace(storage_, space, options_.folder, options_.clone);
  if (pages.ok()) {
    manifest_.spaces[space] = {.pages = pages.value(), .cloned = true};
    return Status::Ok();
  }
  // What there is of it is not a tablespace.
  const Status removed =
      storage_->file_system()->Remove(options_.folder + "/" + SpaceFileName(space));
  if (!removed.ok() && !removed.Is(Code::kNotFound)) return removed;
  if (!storage_->files()->IsLive(space)) return Status::Ok();
  if (!pages.status().Is(Code::kUnsupported)) return Unreadable(space, pages.status());
  if (!told_uncloned_) {
    LogWarning("The backup to '{}' reads '{}', which cannot be cloned: {} (error {}).",
               options_.folder, storage_->files()->PlaceOf(space), pages.status().message(),
               pages.status().detail());
  }
  told_uncloned_ = true;
  return pages.status();
}

Status Backup::CopySpace(SpaceId space, FunctionRef<bool()> interrupted) {
  const Status cloned = TryCloneSpace(space, interrupted);
  if (!cloned.Is(Code::kUnsupported)) return cloned;
  const Result<uint32_t> pages = storage_->files()->PageCount(space);
  if (!pages.ok()) {
    return storage_->files()->IsLive(space) ? Unreadable(space, pages.status()) : Status::Ok();
  }
  const BackupPages::Space about{
      storage_->file_system(),   options_.folder, manifest_.instance_id, space,
      manifest_.page_size_bytes, pages.value(),   manifest_.since};
  const bool changes_only = base_.has_value() && base_->spaces.contains(space);
  Result<std::unique_ptr<BackupPages>> copy =
      changes_only ? MakeBackupDelta(about) : MakeBackupFile(about);
  if (!copy.ok()) return copy.status();
  const Status status = CopySpaceTo(space, copy->get(), pages.value(), interrupted);
  if (!status.ok()) return status;
  if (manifest_.spaces.contains(space)) return status;
  // Dropped, or unreadable: the copy so far is not a tablespace.
  return storage_->file_system()->Remove(options_.folder + "/" + copy.value()->name());
}

Status Backup::CopySpaceTo(SpaceId space, BackupPages* copy, uint32_t pages,
                           FunctionRef<bool()> interrupted) {
  const auto batch = static_cast<uint32_t>(buffer_.size() / manifest_.page_size_bytes);
  uint32_t crc = 0;
  for (uint32_t first = 0; first < pages; first += batch) {
    const uint32_t count = std::min(batch, pages - first);
    const MutableBytes images = buffer_.span().first(size_t{count} * manifest_.page_size_bytes);
    Status status = ReadBatch(space, PageNumber(first), images);
    // A dropped file is truncated bit by bit before it is removed.
    if (!status.ok() && !storage_->files()->IsLive(space)) return Status::Ok();
    if (!status.ok()) return Unreadable(space, status);
    crc = Crc32c(images, crc);
    status = copy->Add(PageNumber(first), images);
    if (!status.ok()) return status;
    status = WaitForPace(interrupted);
    if (!status.ok()) return status;
  }
  const Status status = copy->Finish();
  if (status.ok()) manifest_.spaces[space] = {.pages = pages, .crc = crc};
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
  return IsAllZero(image) ? std::string() : storage_->pool()->WrongWith(image, page);
}

Status Backup::MakeGood(PageId page, MutableBytes image) {
  if (storage_->damaged()->Contains(page.space)) return Status::Ok();
  std::string wrong = WrongWith(page, image);
  if (!wrong.empty()) {
    const Status status = ReadAgain(page, image, &wrong);
    if (!status.ok()) return status;
  }
  if (wrong.empty()) return IsAllZero(image) ? CheckZeros(page) : Status::Ok();
  const Result<bool> used = storage_->allocator()->IsAllocated(page);
  if (used.status().Is(Code::kNotFound)) return used.status();  // dropped
  if (used.ok() && !used.value()) {
    // Redo initialises the page again before it uses it.
    std::fill(image.begin(), image.end(), std::byte{0});
    return Status::Ok();
  }
  LogError("The backup to '{}' fails: page {} of '{}' is damaged: {}.", options_.folder,
           page.page.value(), storage_->files()->PathOf(page.space), wrong);
  return Status(Code::kCorrupt, "a page is damaged, the error log names it", page.page.value());
}

Status Backup::CheckZeros(PageId page) {
  if (!HasBitmap(page)) {
    scan_.ExpectBeginning(page, BackupLogScan::When::kIfChanged);
    return Status::Ok();
  }
  const Result<bool> used = storage_->allocator()->IsAllocated(page);
  if (!used.ok()) return used.status();
  // In use: it was taken since the checkpoint and not written yet, so that the log initialises it,
  // or its image is lost. The log will tell.
  if (used.value()) scan_.ExpectBeginning(page, BackupLogScan::When::kAlways);
  return Status::Ok();
}

bool Backup::HasBitmap(PageId page) {
  const uint32_t group = page.page.value() / GroupPages(manifest_.page_size_bytes);
  // The catalog has a table when its first pages are made. Further groups follow as it grows.
  if (group == 0) return page.space < kFirstTableSpace || tables_now_.contains(page.space);
  const PageId bitmap{page.space, BitmapPage(group, manifest_.page_size_bytes)};
  return storage_->files()->ReadPage(bitmap, bitmap_.span()).ok() && !IsAllZero(bitmap_.span());
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

Status Backup::Finish(Lsn end, FunctionRef<bool()> interrupted) {
  const Status status = WriteRest(end, interrupted);
  if (!status.ok()) {
    LogError("The backup to '{}' fails: {} (error {}).", options_.folder, status.message(),
             status.detail());
    return status;
  }
  LogInfo("The backup to '{}' is finished: from LSN {} to {}, {} tablespaces.", options_.folder,
          manifest_.start.value(), manifest_.end.value(), manifest_.spaces.size());
  return status;
}

Result<Lsn> Backup::EndNow(FunctionRef<bool()> interrupted) {
  for (int i = 0; i < kEndTries; ++i) {
    const Lsn end = storage_->log()->tail();
    const size_t before = manifest_.spaces.size() + manifest_.left_out.size();
    const Status status = CopyPages(interrupted);
    if (!status.ok()) return status;
    // A file exists before the log mentions it, so every space in the log up to the end is copied.
    if (before == manifest_.spaces.size() + manifest_.left_out.size()) return end;
  }
  return Status(Code::kBusy, "tables are created faster than they can be copied");
}

Status Backup::WriteRest(Lsn end, FunctionRef<bool()> interrupted) {
  if (end == kNoLsn) {
    const Result<Lsn> now = EndNow(interrupted);
    if (!now.ok()) return now.status();
    end = now.value();
  }
  if (end > storage_->log()->tail() || end < manifest_.start) {
    return Status(Code::kInvalidArgument, "the end of a backup is not in the redo log");
  }
  manifest_.end = end;
  Status status = storage_->log()->WaitDurable(end);
  if (!status.ok()) return status;
  status = log_.Finish(end, interrupted);
  if (!status.ok()) return status;
  status = CheckLog(interrupted);
  if (!status.ok()) return status;
  return WriteSmallFiles(interrupted);
}

Status Backup::CheckLog(FunctionRef<bool()> interrupted) {
  const Status status = scan_.Run(storage_->file_system(), options_.folder, ControlOfCopy(),
                                  manifest_.end, interrupted);
  if (!status.ok()) return status;
  for (const SpaceId space : scan_.Changed()) {
    if (IsDone(space) || storage_->damaged()->Contains(space)) continue;
    LogError(
        "Tablespace {} came while the backup to '{}' was made and is not in it. LOCK INSTANCE FOR "
        "BACKUP keeps tables from being created.",
        space.value(), options_.folder);
    return Status(Code::kBusy, "tables were created while the backup was made");
  }
  for (const PageId page : scan_.NeverBegun()) {
    if (manifest_.left_out.contains(page.space)) continue;
    LogError("Page {} of '{}' is damaged: it has only zeros.", page.page.value(),
             storage_->files()->PathOf(page.space));
    return Status(Code::kCorrupt, "a page is damaged, the error log names it", page.page.value());
  }
  return status;
}

Status Backup::WriteSmallFiles(FunctionRef<bool()> interrupted) {
  Status status = CopyMarks();
  if (!status.ok()) return status;
  status = WriteEmptyPageLsns();
  if (!status.ok()) return status;
  status = WriteControlFile();
  if (!status.ok()) return status;
  FileSystem* files = storage_->file_system();
  status = ChecksumFiles(interrupted);
  if (!status.ok()) return status;
  status = files->SyncDirectory(options_.folder);
  if (!status.ok()) return status;
  // If it exists, so does everything else.
  return WriteBackupManifest(files, options_.folder, manifest_);
}

Status Backup::ChecksumFiles(FunctionRef<bool()> interrupted) {
  FileSystem* const files = storage_->file_system();
  Result<std::vector<std::string>> names = files->List(options_.folder);
  if (!names.ok()) return names.status();
  for (const std::string& name : names.value()) {
    if (ParseSpaceFileName(name).has_value()) continue;  // its pages have a checksum already
    const Result<BackupManifest::SmallFile> found =
        ChecksumFile(files, options_.folder + "/" + name, interrupted);
    if (!found.ok()) return found.status();
    manifest_.files[name] = found.value();
  }
  return Status::Ok();
}

ControlData Backup::ControlOfCopy() const {
  ControlData data = storage_->control()->data();
  // Ids that were handed out up to the end are below the current marks.
  data.checkpoint_lsn = manifest_.start;
  data.log_durable_lsn = manifest_.end;
  data.clean_shutdown = false;
  // The owner's file is not in the copy. The id stays taken: the log has records of it.
  data.carried = {.id = data.carried.id, .name = {}};
  data.features.Set(kCarriedFileFeature, false);
  return data;
}

Status Backup::WriteControlFile() {
  return ControlFile::Create(storage_->file_system(), options_.folder, ControlOfCopy()).status();
}

Status Backup::WriteEmptyPageLsns() {
  // The instance's own would describe pages that are newer than their copies.
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
  for (const auto& [space, name] : manifest_.left_out) {
    const Status status = copies.Mark(
        space, "Table " + name + " was left out of the backup that this is restored from.");
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

}  // namespace rowan
