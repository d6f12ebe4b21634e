// SPDX-License-Identifier: GPL-2.0-only
#include "storage/backup_delta_reader.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/crc32c.h"

namespace rowan {
namespace {

namespace layout = backup_delta_layout;
using layout::RunKind;

Status Damaged() { return Status(Code::kCorrupt, "it is damaged"); }

}  // namespace

BackupDeltaReader::BackupDeltaReader(std::unique_ptr<File> file, uint64_t size, uint32_t page_size,
                                     uint32_t pages)
    : file_(std::move(file)),
      size_bytes_(size),
      page_size_bytes_(page_size),
      pages_(pages),
      buffer_(kBackupPieceBytes) {}

Result<std::unique_ptr<BackupDeltaReader>> BackupDeltaReader::Open(FileSystem* file_system,
                                                                   const std::string& folder,
                                                                   SpaceId space,
                                                                   const BackupManifest& manifest) {
  Result<std::unique_ptr<File>> file =
      file_system->Open(folder + "/" + BackupDeltaName(space), {.read_only = true});
  if (!file.ok()) return file.status();
  const Result<uint64_t> size = file.value()->Size();
  if (!size.ok()) return size.status();
  std::unique_ptr<BackupDeltaReader> reader(
      new BackupDeltaReader(std::move(file).value(), size.value(), manifest.page_size_bytes,
                            manifest.spaces.at(space).pages));
  const Status status = reader->CheckHeader(space, manifest);
  if (!status.ok()) return status;
  return reader;
}

Status BackupDeltaReader::Read(MutableBytes bytes) {
  if (size_bytes_ - offset_ < bytes.size()) return Status(Code::kCorrupt, "it ends too early");
  const Status status = file_->Read(offset_, bytes);
  if (status.ok()) offset_ += bytes.size();
  return status;
}

Status BackupDeltaReader::CheckHeader(SpaceId space, const BackupManifest& manifest) {
  std::array<std::byte, layout::kHeaderBytes> header;
  const Status status = Read(header);
  if (!status.ok()) return status;
  const auto crc = LoadLe<uint32_t>(header.data() + layout::kCrcOffset);
  StoreLe<uint32_t>(header.data() + layout::kCrcOffset, 0);
  if (std::memcmp(header.data(), layout::kMagic, layout::kMagicBytes) != 0 ||
      crc != Crc32c(header)) {
    return Status(Code::kCorrupt, "it is damaged, or of a newer version");
  }
  const bool fits =
      LoadLe<uint32_t>(header.data() + layout::kSpaceOffset) == space.value() &&
      LoadLe<uint32_t>(header.data() + layout::kPageSizeOffset) == page_size_bytes_ &&
      LoadLe<uint32_t>(header.data() + layout::kPagesOffset) == pages_ &&
      LoadLe<uint64_t>(header.data() + layout::kSinceOffset) == manifest.since.value() &&
      std::memcmp(header.data() + layout::kInstanceOffset, manifest.instance_id.data(),
                  manifest.instance_id.size()) == 0;
  return fits ? status : Status(Code::kCorrupt, "it does not belong to the backup around it");
}

Status BackupDeltaReader::NextRun() {
  std::array<std::byte, layout::kRunBytes> run;
  const Status status = Read(run);
  if (!status.ok()) return status;
  if (LoadLe<uint32_t>(run.data() + layout::kRunCrcOffset) !=
      Crc32c(Bytes(run).first(layout::kRunCrcOffset))) {
    return Damaged();
  }
  kind_ = static_cast<RunKind>(LoadLe<uint32_t>(run.data() + layout::kRunKindOffset));
  if (kind_ == RunKind::kEnd) {
    return offset_ == size_bytes_ ? Status(Code::kEndOfRange) : Damaged();
  }
  const auto first = LoadLe<uint32_t>(run.data() + layout::kRunFirstOffset);
  const auto count = LoadLe<uint32_t>(run.data() + layout::kRunCountOffset);
  const bool known = kind_ == RunKind::kPages || kind_ == RunKind::kZeros;
  if (!known || first < next_ || first > pages_ || count > pages_ - first) return Damaged();
  next_ = first;
  left_ = count;
  return status;
}

Status BackupDeltaReader::Next(Piece* piece) {
  while (left_ == 0) {
    const Status status = NextRun();
    if (!status.ok()) return status;
  }
  piece->first = PageNumber(next_);
  piece->pages = std::min(left_, static_cast<uint32_t>(buffer_.size() / page_size_bytes_));
  piece->images = {};
  if (kind_ == RunKind::kPages) {
    const MutableBytes images = buffer_.span().first(size_t{piece->pages} * page_size_bytes_);
    const Status status = Read(images);
    if (!status.ok()) return status;
    piece->images = images;
  }
  next_ += piece->pages;
  left_ -= piece->pages;
  return Status::Ok();
}

}  // namespace rowan
