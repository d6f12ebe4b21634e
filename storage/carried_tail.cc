// SPDX-License-Identifier: GPL-2.0-only
#include "storage/carried_tail.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "io/placed_file.h"
#include "wal/group.h"
#include "wal/log_reader.h"

namespace rowan {
namespace {

Status Malformed() { return Status(Code::kCorrupt, "a record of a carried file is malformed"); }

/// Writes what the file lacks of the piece, or has otherwise.
Result<uint64_t> WritePiece(File* file, const CarriedPiece& piece, std::vector<std::byte>* there) {
  Result<uint64_t> size = file->Size();
  if (!size.ok()) return size.status();
  if (*size >= piece.end()) {
    there->resize(piece.bytes.size());
    const Status read = file->Read(piece.offset, *there);
    if (!read.ok()) return read;
    if (std::ranges::equal(*there, piece.bytes)) return uint64_t{0};
  }
  const Status written = file->Write(piece.offset, piece.bytes);
  if (!written.ok()) return written;
  return piece.bytes.size();
}

}  // namespace

CarriedTail::CarriedTail(FileSystem* file_system, std::string folder, const ControlData& control)
    : file_system_(file_system),
      folder_(std::move(folder)),
      control_(control),
      end_bytes_(control.carried.covered_bytes) {}

Status CarriedTail::Note(Bytes body, Lsn group) {
  CarriedPiece piece;
  if (!LoadCarriedPiece(body, &piece)) return Malformed();
  if (!found() || piece.file != control_.carried.id) return Status::Ok();
  if (pieces_begin_ == kNoLsn) pieces_begin_ = group;
  if (piece.ends) end_bytes_ = std::max(end_bytes_, piece.end());
  return Status::Ok();
}

Result<CarriedTail::Restored> CarriedTail::RestoreTo(const std::string& path) const {
  Result<std::unique_ptr<File>> opened = file_system_->Open(path, {});
  if (!opened.ok()) return opened.status();
  File* file = opened->get();
  Result<uint64_t> size = file->Size();
  if (!size.ok()) return size.status();
  if (*size < control_.carried.covered_bytes) {
    return Status(Code::kCorrupt, "the file is shorter than what was synced of it");
  }
  Restored restored;
  Status status = WritePieces(file, &restored);
  if (!status.ok()) return status;
  if (*size > end_bytes_) {
    restored.bytes_cut = *size - end_bytes_;
    status = file->Truncate(end_bytes_);
    if (!status.ok()) return status;
  }
  size = file->Size();
  if (!size.ok()) return size.status();
  if (*size != end_bytes_) return Status(Code::kCorrupt, "the redo log lacks a part of it");
  status = file->Sync(SyncMethod::kFsync);
  if (!status.ok()) return status;
  status = file_system_->SyncDirectory(FolderOf(path));
  if (!status.ok()) return status;
  return restored;
}

Status CarriedTail::WritePieces(File* file, Restored* restored) const {
  if (pieces_begin_ == kNoLsn) return Status::Ok();
  Result<std::unique_ptr<LogReader>> reader =
      LogReader::Open(file_system_, folder_, control_, pieces_begin_);
  if (!reader.ok()) return reader.status();
  std::vector<std::byte> there;
  LogReader::Group group;
  for (Lsn at = pieces_begin_; at < log_end_; at = group.end) {
    Status status = (*reader)->Next(&group);
    if (status.Is(Code::kEndOfRange)) break;
    if (!status.ok()) return status;
    GroupParser parser(group.bytes);
    RecordView record;
    while (parser.Next(&record, &status)) {
      if (record.type != RecordType::kCarriedBytes) continue;
      CarriedPiece piece;
      if (!LoadCarriedPiece(record.body, &piece)) return Malformed();
      // The file may not end within what was appended at once.
      if (piece.file != control_.carried.id || piece.end() > end_bytes_) continue;
      Result<uint64_t> written = WritePiece(file, piece, &there);
      if (!written.ok()) return written.status();
      restored->bytes_written += *written;
    }
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

}  // namespace rowan
