// SPDX-License-Identifier: GPL-2.0-only
#include "storage/carried_file.h"

#include <algorithm>
#include <utility>

#include "base/assertions.h"
#include "base/counters.h"
#include "io/placed_file.h"
#include "storage/carried_bytes.h"

namespace rowan {
namespace {

/// Of a piece, at most: well below what the log's buffer takes at once.
constexpr uint64_t kPieceBytes = uint64_t{64} << 10;
/// Header of a group and of its record, rounded up.
constexpr uint32_t kPieceOverheadBytes = 128;
/// An append beyond this share of the log goes to the file alone, which is synced.
constexpr uint64_t kLogShare = 8;

}  // namespace

CarriedFile::CarriedFile(FileSystem* file_system, Log* log, ControlFile* control,
                         std::unique_ptr<CarriedTail> tail)
    : file_system_(file_system),
      log_(log),
      control_(control),
      tail_(std::move(tail)),
      settled_(tail_ == nullptr || !tail_->found()),
      id_(control->data().carried.id) {}

bool CarriedFile::IsSettled() const {
  const MutexLock lock(&mutex_);
  return settled_;
}

bool CarriedFile::carrying() const {
  const MutexLock lock(&mutex_);
  return file_ != nullptr;
}

Status CarriedFile::Update(FunctionRef<void(CarriedState&)> change) {
  const Status status = control_->Update([&](ControlData& data) {
    change(data.carried);
    data.features.Set(kCarriedFileFeature, data.carried.active);
  });
  if (!status.ok()) log_->Stop("writing the control file failed");
  return status;
}

Status CarriedFile::Settle() {
  const Status status = Update([](CarriedState& state) { state.active = false; });
  if (!status.ok()) return status;
  const MutexLock lock(&mutex_);
  settled_ = true;
  return status;
}

Status CarriedFile::SyncFile(File* file) {
  const Status status = file->Sync(SyncMethod::kFdatasync);
  if (status.ok()) {
    AddCounter(Counter::kCarriedFileSyncs);
  } else {
    log_->Stop("syncing the file whose end the log holds failed");
  }
  return status;
}

Status CarriedFile::SyncAfterLog(File* file) {
  const Status status = log_->WaitDurable(log_->tail());
  if (!status.ok()) return status;
  return SyncFile(file);
}

Status CarriedFile::Begin(const std::string& path, uint32_t mark) {
  ROWAN_DCHECK(IsSettled());
  const std::string folder = FolderOf(path);
  const std::string name = path.substr(path.rfind('/') + 1);
  if (name.size() > kCarriedNameBytesMax) return Status(Code::kUnsupported, "the name is too long");
  Status status = carrying() ? End() : Status::Ok();
  if (!status.ok()) return status;
  Result<std::unique_ptr<File>> opened = file_system_->Open(path, {});
  if (!opened.ok()) return opened.status();
  Result<uint64_t> size = (*opened)->Size();
  if (!size.ok()) return size.status();
  status = SyncAfterLog(opened->get());
  if (!status.ok()) return status;
  status = file_system_->SyncDirectory(folder);
  if (!status.ok()) return status;
  uint32_t id = 0;
  status = Update([&](CarriedState& state) {
    id = state.id + 1;
    state = {.id = id, .active = true, .mark = mark, .covered_bytes = *size, .name = name};
  });
  if (!status.ok()) return status;
  const MutexLock lock(&mutex_);
  id_ = id;
  file_ = std::move(*opened);
  end_bytes_ = synced_bytes_ = passed_bytes_ = *size;
  return status;
}

Status CarriedFile::Carry() {
  Result<Lsn> end = LogAppended();
  if (!end.ok()) return end.status();
  return log_->WaitDurable(*end);
}

Result<Lsn> CarriedFile::LogAppended() {
  std::shared_ptr<File> file;
  CarriedPiece piece;
  {
    const MutexLock lock(&mutex_);
    ROWAN_CHECK(file_ != nullptr);
    file = file_;
    piece.file = id_;
    piece.offset = end_bytes_;
  }
  const uint64_t from = piece.offset;
  Result<uint64_t> to = file->Size();
  if (!to.ok()) return to.status();
  if (*to < from) {
    log_->Stop("the file whose end the log holds has become shorter");
    return Status(Code::kCorrupt, "the carried file has become shorter");
  }
  const bool large = *to - from > log_->capacity_bytes() / kLogShare;
  if (large) {
    const Status synced = SyncFile(file.get());
    if (!synced.ok()) return synced;
  }
  {
    // Before it is logged: a checkpoint that passes the records syncs the file up to here.
    const MutexLock lock(&mutex_);
    end_bytes_ = *to;
    if (large) synced_bytes_ = *to;
  }
  if (large) piece.offset = *to;  // of the bytes themselves the log has none
  Result<Lsn> end = LogPieces(file.get(), piece, *to);
  if (!end.ok()) return end.status();
  AddCounter(Counter::kCarriedGroups);
  AddCounter(Counter::kCarriedBytes, *to - from);
  return end;
}

Result<Lsn> CarriedFile::LogPieces(File* file, CarriedPiece piece, uint64_t to) {
  for (;;) {
    const uint64_t size_bytes = std::min(to - piece.offset, kPieceBytes);
    piece.ends = piece.offset + size_bytes == to;
    Result<Lsn> end = LogPiece(file, piece, size_bytes);
    if (!end.ok() || piece.ends) return end;
    piece.offset += size_bytes;
  }
}

Result<Lsn> CarriedFile::LogPiece(File* file, const CarriedPiece& piece, uint64_t size_bytes) {
  group_.Clear();
  std::byte* body = group_.Add(RecordType::kCarriedBytes, {kSystemSpace, kNoPage},
                               kCarriedHeaderBytes + size_bytes);
  StoreCarriedHeader(body, piece);
  Status status;
  if (size_bytes > 0) status = file->Read(piece.offset, {body + kCarriedHeaderBytes, size_bytes});
  if (!status.ok()) return status;
  const auto room = static_cast<uint32_t>(size_bytes) + kPieceOverheadBytes;
  status = log_->ReserveOrWait(room);
  if (!status.ok()) return status;
  ROWAN_DCHECK(group_.size_bytes() <= room);
  const Lsn end = log_->Append(&group_);
  log_->Release(room);
  return end;
}

Status CarriedFile::End() {
  std::shared_ptr<File> file;
  {
    const MutexLock lock(&mutex_);
    file = file_;
  }
  if (file == nullptr) return Status::Ok();
  Status status = SyncAfterLog(file.get());
  if (!status.ok()) return status;
  status = Update([](CarriedState& state) { state.active = false; });
  if (!status.ok()) return status;
  const MutexLock lock(&mutex_);
  file_ = nullptr;
  return status;
}

Status CarriedFile::SyncUncarried(const std::string& path) {
  Result<std::unique_ptr<File>> opened = file_system_->Open(path, {});
  if (!opened.ok()) return opened.status();
  return SyncAfterLog(opened->get());
}

Status CarriedFile::BeforeCheckpoint() {
  std::shared_ptr<File> file;
  uint64_t end = 0;
  uint32_t id = 0;
  {
    const MutexLock lock(&mutex_);
    if (!settled_) return Status(Code::kBusy, "the end of the carried file is not restored yet");
    passed_bytes_ = synced_bytes_;
    if (file_ == nullptr || synced_bytes_ == end_bytes_) return Status::Ok();
    file = file_;
    end = end_bytes_;
    id = id_;
  }
  const Status status = SyncFile(file.get());
  if (!status.ok()) return status;
  const MutexLock lock(&mutex_);
  if (id_ != id) return status;
  synced_bytes_ = std::max(synced_bytes_, end);
  passed_bytes_ = end;
  return status;
}

// What was appended since BeforeCheckpoint may be in the file although what its transactions logged
// is not durable.
void CarriedFile::AtCheckpoint(ControlData* data) {
  const MutexLock lock(&mutex_);
  if (!data->carried.active || data->carried.id != id_) return;
  data->carried.covered_bytes = std::max(data->carried.covered_bytes, passed_bytes_);
}

}  // namespace rowan
