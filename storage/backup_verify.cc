// SPDX-License-Identifier: GPL-2.0-only
#include "storage/backup_verify.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/format.h"
#include "buffer/page/page_header.h"
#include "io/aligned_buffer.h"
#include "io/space_files.h"
#include "storage/backup_delta_reader.h"
#include "storage/backup_log_scan.h"
#include "storage/damaged_spaces.h"
#include "wal/control_file.h"
#include "wal/control_slot.h"

namespace rowan {
void BackupVerify::Wrong(const std::string& name, const std::string& what) {
  ++wrong_;
  listener_.wrong(Format("'{}/{}': {}.", folder_, name, what));
}

void BackupVerify::Count(uint64_t bytes) {
  bytes_done_ += bytes;
  if (listener_.progress) listener_.progress(std::min(bytes_done_, bytes_), bytes_);
}

bool BackupVerify::Run() {
  wrong_ = bytes_done_ = 0;
  if (!ReadManifest()) return false;
  bytes_ = BytesOf(manifest_);
  CheckNames();
  for (const auto& [name, file] : manifest_.files) CheckFile(name, file);
  for (const auto& [space, about] : manifest_.spaces) {
    const std::string name = SpaceFileName(space);
    const Result<bool> whole = file_system_->Exists(folder_ + "/" + name);
    if (!whole.ok()) {
      Wrong(name, whole.status().message());
    } else if (whole.value() || manifest_.since == kNoLsn) {
      CheckSpace(space, about);
    } else {
      CheckDelta(space);
    }
  }
  ControlData control;
  const uint64_t before = wrong_;
  CheckControl(&control);
  // It says how to read the log.
  if (wrong_ == before) CheckLog(control);
  return wrong_ == 0;
}

bool BackupVerify::RunOnto(const std::string& base) {
  const bool good = Run();
  if (!good) return false;
  const Result<BackupManifest> before = ReadBackupManifest(file_system_, base);
  const std::string why_not = before.ok() ? WhyNotOnto(manifest_, before.value())
                                          : Format("there is no backup in '{}'", base);
  if (why_not.empty()) return true;
  Wrong(kBackupManifestName, "it does not go onto '" + base + "': " + why_not);
  return false;
}

bool BackupVerify::ReadManifest() {
  Result<BackupManifest> read = ReadBackupManifest(file_system_, folder_);
  if (read.ok()) {
    manifest_ = std::move(read).value();
    if (IsPageSize(manifest_.page_size_bytes)) return true;
    Wrong(kBackupManifestName, "it names a page size that no instance has");
  } else {
    Wrong(kBackupManifestName, read.status().Is(Code::kNotFound)
                                   ? "it is missing: here is no backup, or one that was started"
                                   : read.status().message());
  }
  return false;
}

uint64_t BackupVerify::BytesOf(const BackupManifest& manifest) const {
  uint64_t bytes = 0;
  for (const auto& [name, file] : manifest.files) bytes += file.bytes;
  for (const auto& [space, about] : manifest.spaces) {
    if (manifest.files.contains(BackupDeltaName(space))) continue;
    bytes += uint64_t{about.pages} * manifest.page_size_bytes;
  }
  return bytes;
}

void BackupVerify::CheckNames() {
  const Result<std::vector<std::string>> names = file_system_->List(folder_);
  if (!names.ok()) return Wrong("", names.status().message());
  // Earlier versions do not name all files.
  if (manifest_.version < kChecksummedManifest) return;
  for (const std::string& name : names.value()) {
    const std::optional<SpaceId> space = ParseSpaceFileName(name);
    const bool known = space.has_value()
                           ? manifest_.spaces.contains(*space)
                           : name == kBackupManifestName || manifest_.files.contains(name);
    if (!known) Wrong(name, "the backup has no such file");
  }
}

void BackupVerify::CheckFile(const std::string& name, const BackupManifest::SmallFile& expected) {
  const Result<BackupManifest::SmallFile> found = ChecksumFile(file_system_, folder_ + "/" + name);
  Count(expected.bytes);
  if (!found.ok()) return Wrong(name, found.status().message());
  if (found.value().bytes != expected.bytes) {
    return Wrong(name, Format("it has {} bytes, not {}", found.value().bytes, expected.bytes));
  }
  if (found.value().crc != expected.crc) Wrong(name, "its checksum is wrong");
}

bool BackupVerify::IsMarked(SpaceId space) const {
  return manifest_.files.contains(Format("space_{}.damaged", space.value()));
}

void BackupVerify::CheckSpace(SpaceId space, const BackupManifest::Space& expected) {
  const std::string name = SpaceFileName(space);
  Result<std::unique_ptr<File>> file =
      file_system_->Open(folder_ + "/" + name, {.read_only = true});
  if (!file.ok()) return Wrong(name, file.status().message());
  const Result<uint64_t> size = file.value()->Size();
  if (!size.ok()) return Wrong(name, size.status().message());
  const uint64_t bytes = uint64_t{expected.pages} * manifest_.page_size_bytes;
  if (size.value() != bytes) {
    return Wrong(name, Format("it has {} bytes, not {}", size.value(), bytes));
  }
  AlignedBuffer buffer(kBackupPieceBytes);
  uint32_t crc = 0;
  const uint64_t before = wrong_;
  for (uint64_t at = 0; at < bytes; at += kBackupPieceBytes) {
    const MutableBytes images =
        buffer.span().first(std::min<uint64_t>(bytes - at, kBackupPieceBytes));
    const Status status = file.value()->Read(at, images);
    if (!status.ok()) return Wrong(name, status.message());
    CheckImages(space, PageNumber(static_cast<uint32_t>(at / manifest_.page_size_bytes)), images,
                name);
    crc = Crc32c(images, crc);
    Count(images.size());
  }
  const bool known = manifest_.version >= kChecksummedManifest && !expected.cloned;
  if (!known || crc == expected.crc || wrong_ > before) return;
  Wrong(name, "its checksum is wrong, though each of its pages is whole or has only zeros");
}

void BackupVerify::CheckImages(SpaceId space, PageNumber first, Bytes images,
                               const std::string& name) {
  if (IsMarked(space)) return;  // whatever its pages hold
  const size_t page_size = manifest_.page_size_bytes;
  for (size_t at = 0; at < images.size(); at += page_size) {
    const Bytes image = images.subspan(at, page_size);
    if (IsAllZero(image)) continue;
    const PageId page{space, PageNumber(first.value() + static_cast<uint32_t>(at / page_size))};
    const PageVerdict verdict = VerifyPage(image, page);
    if (verdict != PageVerdict::kGood) {
      Wrong(name, Format("page {}: {}", page.page.value(), PageVerdictText(verdict)));
    } else if (PageLsnOf(image.data()) > manifest_.end) {
      Wrong(name,
            Format("page {}: its LSN {} is beyond the end of the backup, {}", page.page.value(),
                   PageLsnOf(image.data()).value(), manifest_.end.value()));
    }
  }
}

void BackupVerify::CheckDelta(SpaceId space) {
  const std::string name = BackupDeltaName(space);
  Result<std::unique_ptr<BackupDeltaReader>> delta =
      BackupDeltaReader::Open(file_system_, folder_, space, manifest_);
  if (!delta.ok()) return Wrong(name, delta.status().message());
  BackupDeltaReader::Piece piece;
  Status status;
  while ((status = delta.value()->Next(&piece)).ok()) {
    CheckImages(space, piece.first, piece.images, name);
  }
  if (status.Is(Code::kEndOfRange)) return;
  Wrong(name, Format("{} at offset {}", status.message(), delta.value()->offset()));
}

void BackupVerify::CheckControl(ControlData* control) {
  Result<std::unique_ptr<File>> file =
      file_system_->Open(folder_ + "/" + kControlFileName, {.read_only = true});
  if (!file.ok()) return Wrong(kControlFileName, file.status().message());
  ControlSlot newest{};
  bool found = false;
  for (size_t i = 0; i < kControlSlots; ++i) {
    ControlSlot slot;
    const Status status = file.value()->Read(i * kControlSlotBytes, slot);
    if (!status.ok()) return Wrong(kControlFileName, status.message());
    if (!IsGoodControlSlot(slot)) {
      Wrong(kControlFileName, Format("slot {} is damaged", i));
    } else if (!found || ControlSlotSequence(slot) > ControlSlotSequence(newest)) {
      newest = slot;
      found = true;
    }
  }
  if (!found) return;
  *control = DecodeControlSlot(newest);
  if (control->instance_id != manifest_.instance_id ||
      control->page_size_bytes != manifest_.page_size_bytes ||
      control->checkpoint_lsn != manifest_.start || control->log_durable_lsn != manifest_.end) {
    Wrong(kControlFileName, "it is not that of the backup around it");
  }
}

void BackupVerify::CheckLog(const ControlData& control) {
  BackupLogScan scan;
  const Status status = scan.Run(file_system_, folder_, control, manifest_.end);
  if (!status.ok()) return Wrong("redo_*", status.message());
  for (const SpaceId space : scan.Changed()) {
    if (manifest_.spaces.contains(space) || IsMarked(space)) continue;
    Wrong(SpaceFileName(space), "it is missing, and the redo log has changes of it");
  }
}

}  // namespace rowan
