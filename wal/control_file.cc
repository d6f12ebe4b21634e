// SPDX-License-Identifier: GPL-2.0-only
#include "wal/control_file.h"

#include <array>
#include <cstddef>
#include <optional>
#include <utility>

#include "base/logging.h"
#include "base/page_size.h"

namespace rowan {
namespace {

Status LockInstance(File* file) {
  const Status status = file->Lock();
  return status.Is(Code::kBusy) ? Status(Code::kBusy, "another process has the instance open")
                                : status;
}

/// Both slots are written, so that the first update has a good one to fall back to.
Status WriteNew(File* file, const ControlData& data) {
  for (uint64_t sequence = 0; sequence < kControlSlots; ++sequence) {
    const ControlSlot slot = EncodeControlSlot(data, sequence, ControlSlot{});
    const Status status = file->Write(WriteCause::kControl, sequence * kControlSlotBytes, slot);
    if (!status.ok()) return status;
  }
  return file->Sync(SyncMethod::kFsync);
}

Status CheckAbsent(FileSystem* file_system, const std::string& path) {
  const Result<bool> exists = file_system->Exists(path);
  if (!exists.ok()) return exists.status();
  return exists.value() ? Status(Code::kInvalidArgument, "a control file exists already")
                        : Status::Ok();
}

struct SlotsFound {
  std::optional<ControlSlot> newest;  // of the good ones
  bool any_magic = false;
  size_t bad = 0;
};

Status ReadSlots(File* file, SlotsFound* found) {
  const Result<uint64_t> size = file->Size();
  if (!size.ok()) return size.status();
  for (size_t index = 0; index < kControlSlots; ++index) {
    ControlSlot read{};
    if (size.value() < (index + 1) * kControlSlotBytes) continue;
    const Status status = file->Read(index * kControlSlotBytes, read);
    if (!status.ok()) return status;
    found->any_magic |= HasControlMagic(read);
    if (!IsGoodControlSlot(read)) {
      ++found->bad;
    } else if (!found->newest.has_value() ||
               ControlSlotSequence(read) > ControlSlotSequence(*found->newest)) {
      found->newest = read;
    }
  }
  return Status::Ok();
}

}  // namespace

Result<std::unique_ptr<ControlFile>> ControlFile::Open(FileSystem* file_system,
                                                       const std::string& folder) {
  Result<std::unique_ptr<File>> file = file_system->Open(folder + "/" + kControlFileName, {});
  if (!file.ok()) return file.status();
  // Before the first byte is read: another process that has it open changes it in the meantime.
  Status status = LockInstance(file.value().get());
  if (!status.ok()) return status;
  std::unique_ptr<ControlFile> control(new ControlFile(folder, std::move(file).value()));
  status = control->Load();
  if (!status.ok()) return status;
  return control;
}

Result<std::unique_ptr<ControlFile>> ControlFile::Create(FileSystem* file_system,
                                                         const std::string& folder,
                                                         const ControlData& data) {
  const std::string path = folder + "/" + kControlFileName;
  const std::string draft_path = folder + "/" + kControlDraftName;
  Status status = CheckAbsent(file_system, path);
  if (!status.ok()) return status;
  // A file of an interrupted creation may exist: it is overwritten.
  Result<std::unique_ptr<File>> draft = file_system->Open(draft_path, {.create = true});
  if (!draft.ok()) return draft.status();
  // Two concurrent creations compete for the draft's lock. The one that gets it after the other's
  // rename finds the control file.
  status = LockInstance(draft.value().get());
  if (!status.ok()) return status;
  status = CheckAbsent(file_system, path);
  if (!status.ok()) return status;
  status = WriteNew(draft.value().get(), data);
  if (!status.ok()) return status;
  // Renamed into place, so that a crash leaves a whole control file or none.
  status = file_system->Rename(draft_path, path);
  if (!status.ok()) return status;
  status = file_system->SyncDirectory(folder);
  if (!status.ok()) return status;
  draft.value().reset();  // its lock is that of the control file now
  return Open(file_system, folder);
}

Status ControlFile::Load() {
  const MutexLock lock(&mutex_);
  const Status status = ReadLocked();
  if (!status.ok()) return status;
  // The next update takes the other slot, so the newer one must be durable. A process that died may
  // not have synced it; after a sync that failed, only what is written again reaches the disk.
  return WriteSlotLocked(data_, sequence_);
}

Status ControlFile::ReadLocked() {
  SlotsFound found;
  const Status status = ReadSlots(file_.get(), &found);
  if (!status.ok()) return status;
  if (!found.any_magic) {
    LogError("'{}' is not a Rowan control file", file_->path());
    return Status(Code::kInvalidArgument, "not a Rowan control file");
  }
  if (!found.newest.has_value()) {
    LogError("Control file '{}' is damaged: neither of its two slots has a right checksum",
             file_->path());
    return Status(Code::kCorrupt, "both slots of the control file are damaged");
  }
  const Status adopted = AdoptLocked(*found.newest);
  if (!adopted.ok() || found.bad == 0) return adopted;
  LogWarning(
      "A slot of control file '{}' has a wrong checksum; the other, number {}, is used. "
      "After a crash that tore its last update this is in order, otherwise the disk "
      "changed it.",
      file_->path(), sequence_);
  return adopted;
}

Status ControlFile::AdoptLocked(const ControlSlot& newest) {
  slot_ = newest;
  data_ = DecodeControlSlot(newest);
  sequence_ = ControlSlotSequence(newest);
  if (data_.format_version > kFormatVersion) {
    LogError(
        "Control file '{}' has format version {}, this build knows versions up to {}: a newer "
        "version of Rowan wrote it.",
        file_->path(), data_.format_version, kFormatVersion);
    return Status(Code::kNewerFormat, "the instance was written by a newer version of Rowan",
                  data_.format_version);
  }
  if (!IsPageSize(data_.page_size_bytes)) {
    LogError("Control file '{}' names a page size of {} bytes, which no instance has.",
             file_->path(), data_.page_size_bytes);
    return Status(Code::kCorrupt, "the control file names no page size");
  }
  return CheckFeatures(data_.features, kInstanceFeatures, file_->path());
}

Status ControlFile::WriteSlotLocked(const ControlData& contents, uint64_t number) {
  const ControlSlot bytes = EncodeControlSlot(contents, number, slot_);
  const Status status =
      file_->Write(WriteCause::kControl, number % kControlSlots * kControlSlotBytes, bytes);
  if (!status.ok()) return status;
  return file_->Sync(SyncMethod::kFdatasync);
}

Status ControlFile::WriteNextLocked(const ControlData& contents) {
  if (broken_) return Status(Code::kStopped, "an earlier write of the control file failed");
  const Status status = WriteSlotLocked(contents, sequence_ + 1);
  if (!status.ok()) {
    broken_ = true;
    LogError("Cannot write control file '{}': {}", file_->path(), status.message());
    return status;
  }
  data_ = contents;
  ++sequence_;
  return status;
}

Status ControlFile::Update(FunctionRef<void(ControlData&)> change) {
  const MutexLock lock(&mutex_);
  ControlData contents = data_;
  change(contents);
  return WriteNextLocked(contents);
}

Status ControlFile::UpdateBothSlots(FunctionRef<void(ControlData&)> change) {
  const MutexLock lock(&mutex_);
  ControlData contents = data_;
  change(contents);
  const Status status = WriteNextLocked(contents);
  if (!status.ok()) return status;
  return WriteNextLocked(contents);
}

}  // namespace rowan
