// SPDX-License-Identifier: GPL-2.0-only
#include "wal/log_file_set.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

#include "base/assertions.h"
#include "base/logging.h"
#include "io/aligned_buffer.h"
#include "io/resource_shortage.h"
#include "wal/log_buffer.h"

namespace rowan {
namespace {

constexpr size_t kZeroChunkBytes = size_t{1} << 20;
/// Synced this often while zeros are written, so that a commit's sync never waits for all of them.
constexpr uint64_t kZeroSyncBytes = uint64_t{8} << 20;
constexpr size_t kRewriteChunkBytes = size_t{1} << 20;

/// Files this many times too small or too large for the capacity are replaced, not recycled.
constexpr uint64_t kFileBytesSlack = 4;
constexpr uint64_t kFileBytesMin = uint64_t{64} << 10;
/// Larger ones only for a log that has grown accordingly.
constexpr uint64_t kFileBytesUsualMax = uint64_t{64} << 20;

}  // namespace

uint64_t LogFileBytes(uint64_t capacity_bytes, uint64_t ready_bytes) {
  const uint64_t usual = std::min(capacity_bytes / 16, kFileBytesUsualMax);
  const uint64_t most = std::max(usual, capacity_bytes / 64);
  return std::max(std::bit_floor(std::clamp(ready_bytes / 8, usual, most)), kFileBytesMin);
}

LogFileSet::LogFileSet(Options options)
    : options_(std::move(options)), capacity_(options_.capacity_bytes) {
  static_assert(kFileBytesMin % kLogBlockBytes == 0);
}

std::string LogFileSet::PathOf(uint64_t number) const {
  return options_.folder + "/" + LogFileName(number);
}

std::string LogFileSet::ScratchPath() const { return options_.folder + "/redo_prepare.tmp"; }

uint64_t LogFileSet::NextFileBytes() const {
  return LogFileBytes(capacity_.load(std::memory_order_acquire), map_.bytes());
}

LogFileHeader LogFileSet::NextHeader(uint64_t file_bytes) const {
  return {options_.instance_id, map_.next_number(), file_bytes, map_.end()};
}

Status LogFileSet::Create(Lsn end) {
  const Result<std::vector<ListedLogFile>> files =
      ListLogFiles(options_.file_system, options_.folder, options_.instance_id);
  if (!files.ok()) return files.status();
  const MutexLock lock(&mutex_);
  const uint64_t file_bytes = NextFileBytes();
  const uint64_t number = (end.value() - 1) / file_bytes;
  map_.Reset(number, Lsn(number * file_bytes));
  const Status status = RemoveStrays(files.value());
  if (!status.ok()) return status;
  return PrepareTwoLocked(end, end);
}

Status LogFileSet::Recover(Lsn checkpoint, Lsn end) {
  const Result<std::vector<ListedLogFile>> files =
      ListLogFiles(options_.file_system, options_.folder, options_.instance_id);
  if (!files.ok()) return files.status();
  const Lsn oldest = std::min(checkpoint, end);
  const MutexLock lock(&mutex_);
  Status status = FindRun(files.value(), oldest, end);
  if (!status.ok()) return status;
  status = RemoveStrays(files.value());
  if (!status.ok()) return status;
  status = MakeDurable(oldest, end);
  if (!status.ok()) return status;
  return PrepareTwoLocked(end, oldest);
}

Status LogFileSet::PrepareTwoLocked(Lsn end, Lsn oldest) {
  // The byte before it stays, too: see SafeLsn of the log.
  const uint64_t oldest_needed = map_.Of(oldest - 1).number;
  while (map_.next_number() <= map_.Of(end).number + 1) {
    // An old file needs no space, of which there may be none.
    const bool old = map_.First().number < oldest_needed;
    const Status status = old ? RecycleLocked() : CreateLocked();
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

Status LogFileSet::FindRun(const std::vector<ListedLogFile>& files, Lsn oldest, Lsn end) {
  // The byte before the first one needed has a file, even when the log ends there.
  const auto anchor = std::find_if(files.begin(), files.end(), [oldest](const auto& file) {
    return file.status.ok() && file.header.start < oldest && oldest <= file.header.end();
  });
  if (anchor == files.end()) {
    LogError("No redo log file in '{}' holds LSN {}", options_.folder, oldest.value() - 1);
    return Status(Code::kCorrupt, "a log file is missing");
  }
  const auto follows = [](const ListedLogFile& one, const ListedLogFile& other) {
    return one.status.ok() && other.status.ok() && one.number + 1 == other.number &&
           one.header.end() == other.header.start;
  };
  auto first = anchor;
  while (first != files.begin() && follows(*std::prev(first), *first)) --first;
  auto last = anchor;
  while (std::next(last) != files.end() && follows(*last, *std::next(last))) ++last;
  if (last->header.end() < end) {
    const auto next = std::next(last);
    const bool damaged = next != files.end() && next->number == last->number + 1;
    const char* reason = damaged && !next->status.ok() ? next->status.message() : "it is missing";
    LogError("Log file '{}': {}", PathOf(last->number + 1), reason);
    return Status(Code::kCorrupt, "a log file is missing or damaged");
  }
  map_.Reset(first->number, first->header.start);
  for (auto file = first; file != std::next(last); ++file) map_.Append(file->header.file_bytes);
  return Status::Ok();
}

Status LogFileSet::RemoveStrays(const std::vector<ListedLogFile>& files) {
  FileSystem* file_system = options_.file_system;
  bool removed = false;
  const auto remove = [&](const std::string& path) {
    const Status status = file_system->Remove(path);
    if (status.Is(Code::kNotFound)) return Status::Ok();
    removed |= status.ok();
    return status;
  };
  Status status = remove(ScratchPath());
  // From the end, each durably removed before the next: a gap in the numbers counts as a loss.
  for (auto file = files.rbegin(); file != files.rend() && status.ok(); ++file) {
    const bool behind = file->number >= map_.next_number();
    if (!behind && file->number >= map_.First().number) continue;
    status = remove(PathOf(file->number));
    if (behind && removed && status.ok()) status = file_system->SyncDirectory(options_.folder);
  }
  if (removed && status.ok()) status = file_system->SyncDirectory(options_.folder);
  return status;
}

Status LogFileSet::MakeDurable(Lsn oldest, Lsn end) {
  // Files after the end count as ready, so their headers must be on disk as well.
  for (uint64_t number = map_.Of(oldest).number; number < map_.next_number(); ++number) {
    const LogFilePlace place = map_.OfNumber(number);
    const Lsn first = std::max(oldest, place.start);
    const Status status = RewriteFile(place, first, std::clamp(end, first, place.end));
    if (!status.ok()) return status;
  }
  return options_.file_system->SyncDirectory(options_.folder);
}

Status LogFileSet::RewriteFile(const LogFilePlace& place, Lsn start, Lsn end) {
  Result<std::shared_ptr<File>> file = Open(place.number, {});
  if (!file.ok()) return file.status();
  AlignedBuffer chunk(kRewriteChunkBytes);
  const auto rewrite = [&](uint64_t offset, size_t size_bytes) {
    const MutableBytes bytes = chunk.span().first(size_bytes);
    const Status read = (*file)->Read(offset, bytes);
    if (!read.ok()) return read;
    return (*file)->Write(WriteCause::kRedoFiles, offset, bytes);
  };
  Status status = rewrite(0, kLogFileHeaderBytes);
  if (!status.ok()) return status;
  const Lsn first = LogBlockStart(start);
  const Lsn last = std::min(LogBlockEnd(end), place.end);
  for (Lsn position = first; position < last; position += kRewriteChunkBytes) {
    status =
        rewrite(place.OffsetOf(position), std::min<uint64_t>(kRewriteChunkBytes, last - position));
    if (!status.ok()) return status;
  }
  return (*file)->Sync(SyncMethod::kFsync);
}

Result<std::shared_ptr<File>> LogFileSet::Open(uint64_t number, FileOptions options) {
  Result<std::unique_ptr<File>> file = options_.file_system->Open(PathOf(number), options);
  if (!file.ok()) return file.status();
  return std::shared_ptr<File>(std::move(file).value());
}

Result<bool> LogFileSet::Step(const Aim& aim) {
  const MutexLock lock(&mutex_);
  // The byte before a hold stays, as the one before the checkpoint does.
  const Lsn held = holds_.Oldest(aim.tail) - 1;
  const uint64_t oldest_needed = map_.Of(std::min(aim.safe, held)).number;
  // Not counting what is held for readers: writers do not wait for them.
  const bool room = map_.end() < aim.safe + capacity_.load(std::memory_order_acquire);
  Status status;
  if (map_.First().number < oldest_needed) {
    status = ReuseFirstLocked(aim, room);
  } else if (room && map_.end() < aim.wanted_end) {
    status = CreateLocked();
  } else {
    return false;
  }
  if (!status.ok()) return status;
  return true;
}

Status LogFileSet::ReuseFirstLocked(const Aim& aim, bool room) {
  if (!room) return RemoveLocked();
  const uint64_t bytes = map_.First().bytes();
  const uint64_t wanted = NextFileBytes();
  if (bytes >= wanted / kFileBytesSlack && bytes / kFileBytesSlack <= wanted) {
    return RecycleLocked();
  }
  if (map_.end() >= aim.wanted_end) return RemoveLocked();
  // Its successor first: on a full disk an unsuitable file is better than none.
  const Status status = CreateLocked();
  return status.Is(Code::kNoSpace) ? RecycleLocked() : status;
}

Result<LogHolds::Id> LogFileSet::Hold(LogHolds::Reader reader) {
  const MutexLock lock(&mutex_);
  if (reader.lsn <= map_.First().start) {
    return Status(Code::kNotFound, "that part of the redo log is gone");
  }
  return holds_.Add(std::move(reader));
}

Result<LogFilePlace> LogFileSet::Require(Lsn position) {
  if (position < PreparedEnd()) return map_.Of(position);
  const MutexLock lock(&mutex_);
  ShortageWait wait("Preparing a redo log file");
  while (position >= PreparedEnd()) {
    const Status status = CreateLocked();
    if (IsResourceShortage(status) && wait.Again(static_cast<int>(status.detail()))) continue;
    if (!status.ok()) return status;
  }
  return map_.Of(position);
}

Status LogFileSet::CreateLocked() {
  const LogFileHeader header = NextHeader(NextFileBytes());
  const Status status = MakeFile(header);
  if (!status.ok()) {
    // Frees the space taken on a full disk; otherwise Recover removes the file.
    options_.file_system->Remove(ScratchPath()).Ignore();
    return status;
  }
  map_.Append(header.file_bytes);
  return Status::Ok();
}

Status LogFileSet::MakeFile(const LogFileHeader& header) {
  Status status = FillScratch(header);
  if (!status.ok()) return status;
  status = options_.file_system->Rename(ScratchPath(), PathOf(header.number));
  if (!status.ok()) return status;
  return options_.file_system->SyncDirectory(options_.folder);
}

Status LogFileSet::FillScratch(const LogFileHeader& header) {
  Result<std::unique_ptr<File>> opened =
      options_.file_system->Open(ScratchPath(), {.create = true, .spare = true});
  if (!opened.ok()) return opened.status();
  File* file = opened.value().get();
  const AlignedBuffer zeros(kZeroChunkBytes);
  const uint64_t end = kLogFileHeaderBytes + header.file_bytes;
  uint64_t synced = 0;
  for (uint64_t offset = 0; offset < end;) {
    const uint64_t chunk = std::min<uint64_t>(zeros.size(), end - offset);
    const Status written = file->Write(WriteCause::kRedoFiles, offset, zeros.span().first(chunk));
    if (!written.ok()) return written;
    offset += chunk;
    if (offset - synced < kZeroSyncBytes) continue;
    const Status status = file->Sync(SyncMethod::kFdatasync);
    if (!status.ok()) return status;
    synced = offset;
  }
  const Status status = WriteLogFileHeader(file, header);
  if (!status.ok()) return status;
  return file->Sync(SyncMethod::kFsync);
}

Status LogFileSet::RecycleLocked() {
  const LogFilePlace first = map_.First();
  const LogFileHeader header = NextHeader(first.bytes());
  Result<std::shared_ptr<File>> file = Open(first.number, {.spare = true});
  if (!file.ok()) return file.status();
  Status status = WriteLogFileHeader(file.value().get(), header);
  if (!status.ok()) return status;
  status = file.value()->Sync(SyncMethod::kFsync);
  if (!status.ok()) return status;
  status = options_.file_system->Rename(PathOf(first.number), PathOf(header.number));
  if (!status.ok()) return status;
  status = options_.file_system->SyncDirectory(options_.folder);
  if (!status.ok()) return status;
  map_.RemoveFirst();
  map_.Append(header.file_bytes);
  return Status::Ok();
}

Status LogFileSet::RemoveLocked() {
  Status status = options_.file_system->Remove(PathOf(map_.First().number));
  if (!status.ok()) return status;
  status = options_.file_system->SyncDirectory(options_.folder);
  if (!status.ok()) return status;
  map_.RemoveFirst();
  return Status::Ok();
}

}  // namespace rowan
