// SPDX-License-Identifier: GPL-2.0-only
#include "storage/backup_apply.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/format.h"
#include "base/logging.h"
#include "io/aligned_buffer.h"
#include "io/space_files.h"
#include "storage/backup_delta_reader.h"
#include "wal/control_file.h"

namespace rowan {
namespace {

/// Where the full backup's copy of a table that the next one left out is kept, in case it is
/// needed.
std::string KeptName(SpaceId space) { return Format("space_{}.kept", space.value()); }

Status Fail(const std::string& path, const Status& status) {
  LogError("'{}': {} (error {}).", path, status.message(), status.detail());
  return status;
}

}  // namespace

Status BackupApply::Check() {
  for (const auto& [folder, manifest] : {std::pair(&full_, &old_), std::pair(&increment_, &new_)}) {
    Result<BackupManifest> read = ReadBackupManifest(file_system_, *folder);
    if (!read.ok()) {
      LogError("'{}' holds no backup that can be used: {}.", *folder, read.status().message());
      return read.status();
    }
    *manifest = std::move(read).value();
  }
  const std::string why_not = WhyNotOnto(new_, old_);
  if (why_not.empty() && old_.since != kNoLsn && old_.version >= kChecksummedManifest) {
    LogError("'{}' is an incremental backup itself.", full_);
    return Status(Code::kInvalidArgument, "the target is no full backup");
  }
  if (why_not.empty()) return Status::Ok();
  LogError("'{}' does not go onto '{}': {}.", increment_, full_, why_not);
  return Status(Code::kInvalidArgument, "the backup does not go onto the other");
}

Status BackupApply::Run() {
  Status status = file_system_->Remove(full_ + "/" + kControlFileName);
  if (!status.ok() && !status.Is(Code::kNotFound)) return status;
  status = file_system_->SyncDirectory(full_);
  if (!status.ok()) return status;
  status = KeepLeftOut();
  if (!status.ok()) return status;
  for (const auto& [space, about] : new_.spaces) {
    status = ApplySpace(space);
    if (!status.ok()) return status;
  }
  status = RemoveOld();
  if (!status.ok()) return status;
  status = CopyFiles();
  if (!status.ok()) return status;
  status = file_system_->SyncDirectory(full_);
  if (!status.ok()) return status;
  return Complete();
}

Status BackupApply::Complete() {
  // With the control file and the manifest that fits it the instance is whole.
  Status status = CopyFile(kControlFileName, kControlDraftName);
  if (!status.ok()) return status;
  const std::string control = full_ + "/" + kControlFileName;
  status = file_system_->Rename(full_ + "/" + kControlDraftName, control);
  if (!status.ok()) return Fail(control, status);
  BackupManifest outcome = Outcome();
  if (new_.version < kChecksummedManifest) {
    status = SumUp(&outcome);
    if (!status.ok()) return status;
  }
  return WriteBackupManifest(file_system_, full_, outcome);
}

Status BackupApply::ApplySpace(SpaceId space) {
  const std::string name = SpaceFileName(space);
  const Result<bool> whole = file_system_->Exists(increment_ + "/" + name);
  if (!whole.ok()) return whole.status();
  if (whole.value()) return CopyFile(name, name);
  const std::string path = full_ + "/" + name;
  Result<std::unique_ptr<File>> file = file_system_->Open(path, {});
  if (!file.ok()) return Fail(path, file.status());
  Status status =
      file.value()->Truncate(uint64_t{new_.spaces.at(space).pages} * new_.page_size_bytes);
  if (!status.ok()) return Fail(path, status);
  status = ApplyDelta(space, file.value().get());
  if (!status.ok()) return Fail(increment_ + "/" + BackupDeltaName(space), status);
  status = file.value()->Sync(SyncMethod::kFsync);
  return status.ok() ? status : Fail(path, status);
}

Status BackupApply::ApplyDelta(SpaceId space, File* target) {
  Result<std::unique_ptr<BackupDeltaReader>> delta =
      BackupDeltaReader::Open(file_system_, increment_, space, new_);
  if (!delta.ok()) return delta.status();
  const AlignedBuffer zeros(kBackupPieceBytes);
  BackupDeltaReader::Piece piece;
  Status status;
  while ((status = delta.value()->Next(&piece)).ok()) {
    const size_t bytes = size_t{piece.pages} * new_.page_size_bytes;
    const Bytes images = piece.images.empty() ? zeros.span().first(bytes) : piece.images;
    const uint64_t at = uint64_t{piece.first.value()} * new_.page_size_bytes;
    status = target->Write(WriteCause::kBackup, at, images);
    if (!status.ok()) return status;
  }
  return status.Is(Code::kEndOfRange) ? Status::Ok() : status;
}

Status BackupApply::KeepLeftOut() {
  for (const auto& [space, name] : new_.left_out) {
    const std::string from = full_ + "/" + SpaceFileName(space);
    const Status status = file_system_->Rename(from, full_ + "/" + KeptName(space));
    if (!status.ok() && !status.Is(Code::kNotFound)) return Fail(from, status);
  }
  return Status::Ok();
}

Status BackupApply::RemoveOld() {
  const BackupManifest wanted = Outcome();
  Result<std::vector<std::string>> names = file_system_->List(full_);
  if (!names.ok()) return names.status();
  for (const std::string& name : names.value()) {
    const std::optional<SpaceId> space = ParseSpaceFileName(name);
    const bool small = name == kBackupManifestName || wanted.files.contains(name);
    if (space.has_value() ? wanted.spaces.contains(*space) : small) continue;
    const Status status = file_system_->Remove(full_ + "/" + name);
    if (!status.ok()) return Fail(full_ + "/" + name, status);
  }
  return Status::Ok();
}

Status BackupApply::CopyFiles() {
  const Result<std::vector<std::string>> names = file_system_->List(increment_);
  if (!names.ok()) return names.status();
  for (const std::string& name : names.value()) {
    if (name.starts_with("space_") && !name.ends_with(".damaged")) continue;
    if (name == kControlFileName || name == kBackupManifestName) continue;
    const Status status = CopyFile(name, name);
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

Status BackupApply::CopyFile(const std::string& name, const std::string& target_name) {
  const std::string from = increment_ + "/" + name;
  const std::string to = full_ + "/" + target_name;
  Result<std::unique_ptr<File>> source = file_system_->Open(from, {.read_only = true});
  if (!source.ok()) return Fail(from, source.status());
  Result<std::unique_ptr<File>> target = file_system_->Open(to, {.create = true});
  if (!target.ok()) return Fail(to, target.status());
  const Result<uint64_t> size = source.value()->Size();
  if (!size.ok()) return Fail(from, size.status());
  // What was there goes, and holes stay holes.
  for (const uint64_t bytes : {uint64_t{0}, size.value()}) {
    const Status status = target.value()->Truncate(bytes);
    if (!status.ok()) return Fail(to, status);
  }
  AlignedBuffer buffer(kBackupPieceBytes);
  for (uint64_t at = 0; at < size.value(); at += kBackupPieceBytes) {
    const MutableBytes piece =
        buffer.span().first(std::min<uint64_t>(size.value() - at, kBackupPieceBytes));
    Status status = source.value()->Read(at, piece);
    if (!status.ok()) return Fail(from, status);
    if (IsAllZero(piece)) continue;
    status = target.value()->Write(WriteCause::kBackup, at, piece);
    if (!status.ok()) return Fail(to, status);
  }
  const Status status = target.value()->Sync(SyncMethod::kFsync);
  return status.ok() ? status : Fail(to, status);
}

BackupManifest BackupApply::Outcome() const {
  BackupManifest result = new_;
  result.since = kNoLsn;  // all pages are there now
  for (const auto& [space, about] : new_.spaces) result.files.erase(BackupDeltaName(space));
  for (const auto& [space, name] : new_.left_out) {
    const auto kept = old_.spaces.find(space);
    if (kept == old_.spaces.end()) continue;
    result.files[KeptName(space)] = {uint64_t{kept->second.pages} * old_.page_size_bytes,
                                     kept->second.crc};
  }
  // Of a table that was left out before and still is.
  for (const auto& [name, file] : old_.files) {
    if (name.ends_with(".kept")) result.files.emplace(name, file);
  }
  return result;
}

Status BackupApply::SumUp(BackupManifest* outcome) const {
  for (auto& [space, about] : outcome->spaces) {
    const Result<BackupManifest::SmallFile> file =
        ChecksumFile(file_system_, full_ + "/" + SpaceFileName(space));
    if (!file.ok()) return file.status();
    about.crc = file.value().crc;
  }
  const Result<std::vector<std::string>> names = file_system_->List(full_);
  if (!names.ok()) return names.status();
  for (const std::string& name : names.value()) {
    if (ParseSpaceFileName(name).has_value() || name == kBackupManifestName) continue;
    const Result<BackupManifest::SmallFile> file = ChecksumFile(file_system_, full_ + "/" + name);
    if (!file.ok()) return file.status();
    outcome->files[name] = file.value();
  }
  return Status::Ok();
}

}  // namespace rowan
