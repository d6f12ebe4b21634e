// SPDX-License-Identifier: GPL-2.0-only
#include "storage/backup_log.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "base/counters.h"
#include "storage/backup_manifest.h"
#include "wal/log_file_header.h"

namespace rowan {
namespace {

constexpr std::chrono::milliseconds kTick{50};
/// The checkpoint may move between being read and being held, but not forever.
constexpr int kHoldTries = 100;

Status FellBehind() {
  return Status(Code::kStopped, "the backup fell too far behind the redo log");
}

}  // namespace

BackupLog::BackupLog(Options options)
    : options_(std::move(options)),
      buffer_(kBackupPieceBytes),
      thread_("backup-log", kTick, [this] { return Tick(); }) {}

BackupLog::~BackupLog() { thread_.Stop(); }

Result<Lsn> BackupLog::Start() {
  for (int i = 0; i < kHoldTries; ++i) {
    const Lsn from = std::max(options_.log->checkpoint(), Log::kFirstLsn);
    Result<std::unique_ptr<LogHold>> hold =
        options_.log->Hold("backup to '" + options_.target + "'", from, options_.bytes_max);
    if (hold.status().Is(Code::kNotFound)) continue;
    if (!hold.ok()) return hold.status();
    hold_ = std::move(hold).value();
    {
      const MutexLock lock(&mutex_);
      copied_ = from;
    }
    const Status started = thread_.Start();
    if (!started.ok()) return started;
    return from;
  }
  return Status(Code::kBusy, "the redo log cannot be held back");
}

ThreadLoop::Next BackupLog::Tick() {
  CopyUpTo(options_.log->durable()).Ignore();  // kept for the next caller
  return ThreadLoop::Next::kWait;
}

Status BackupLog::CopyUpTo(Lsn end, FunctionRef<bool()> interrupted) {
  const MutexLock lock(&mutex_);
  while (failure_.ok() && copied_ < end) {
    if (interrupted && interrupted()) return Status(Code::kInterrupted);
    failure_ = CopyPieceLocked(end);
  }
  return failure_;
}

std::string BackupLog::TargetPath(const LogFilePlace& place) const {
  return options_.target + "/" + LogFileName(place.number);
}

Status BackupLog::CopyPieceLocked(Lsn end) {
  Status status = OpenFilesLocked(copied_);
  if (!status.ok()) return hold_->lost() ? FellBehind() : status;
  const LogFilePlace& place = places_.back();
  const uint64_t missing = std::min(end, place.end) - copied_;
  const MutableBytes piece = buffer_.span().first(std::min<uint64_t>(missing, buffer_.size()));
  status = source_->Read(place.OffsetOf(copied_), piece);
  // Bytes read after the hold was lost may belong to another part of the log.
  if (hold_->lost()) return FellBehind();
  if (!status.ok()) return status;
  status = target_->Write(WriteCause::kBackup, place.OffsetOf(copied_), piece);
  if (!status.ok()) return status;
  AddCounter(Counter::kBackupLogBytes, piece.size());
  copied_ += piece.size();
  hold_->Advance(copied_);
  return status;
}

Status BackupLog::OpenFilesLocked(Lsn position) {
  if (source_ != nullptr && places_.back().Holds(position)) return Status::Ok();
  Status status = CloseFilesLocked();
  if (!status.ok()) return status;
  const std::optional<LogFilePlace> found = options_.log->FindPlace(position);
  if (!found.has_value()) return FellBehind();
  const LogFilePlace& place = *found;
  Result<std::unique_ptr<File>> source = options_.file_system->Open(
      options_.source + "/" + LogFileName(place.number), {.read_only = true});
  if (!source.ok()) return source.status();
  Result<std::unique_ptr<File>> target =
      options_.file_system->Open(TargetPath(place), {.create = true});
  if (!target.ok()) return target.status();
  status = target.value()->Truncate(kLogFileHeaderBytes + place.bytes());
  if (!status.ok()) return status;
  status = WriteLogFileHeader(target.value().get(),
                              {options_.instance_id, place.number, place.bytes(), place.start});
  if (!status.ok()) return status;
  places_.push_back(place);
  source_ = std::move(source).value();
  target_ = std::move(target).value();
  return status;
}

Status BackupLog::CloseFilesLocked() {
  source_.reset();
  if (target_ == nullptr) return Status::Ok();
  const Status status = target_->Sync(SyncMethod::kFsync);
  target_.reset();
  return status;
}

Status BackupLog::CutLocked(Lsn end) {
  while (!places_.empty() && places_.back().start >= end) {
    const Status removed = options_.file_system->Remove(TargetPath(places_.back()));
    if (!removed.ok()) return removed;
    places_.pop_back();
  }
  // The position where redo begins is below the end, so the file of both exists.
  if (places_.empty()) return Status(Code::kInvalidArgument, "the backup ends before it began");
  const LogFilePlace& place = places_.back();
  if (end >= place.end) return Status::Ok();
  Result<std::unique_ptr<File>> file = options_.file_system->Open(TargetPath(place), {});
  if (!file.ok()) return file.status();
  Status status = file.value()->Truncate(place.OffsetOf(end));
  if (!status.ok()) return status;
  status = file.value()->Truncate(kLogFileHeaderBytes + place.bytes());
  if (!status.ok()) return status;
  return file.value()->Sync(SyncMethod::kFsync);
}

Status BackupLog::Finish(Lsn end, FunctionRef<bool()> interrupted) {
  thread_.Stop();
  Status status = CopyUpTo(end, interrupted);
  if (!status.ok()) return status;
  const MutexLock lock(&mutex_);
  // The end is at the start of a file, or there is no log at all: the files must exist all the
  // same.
  if (places_.empty()) status = OpenFilesLocked(end);
  if (!status.ok()) return status;
  status = CloseFilesLocked();
  if (!status.ok()) return status;
  return CutLocked(end);
}

}  // namespace rowan
