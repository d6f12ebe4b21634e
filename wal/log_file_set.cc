// SPDX-License-Identifier: GPL-2.0-only
#include "wal/log_file_set.h"

#include <algorithm>
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

}  // namespace

LogFileSet::LogFileSet(Options options)
    : options_(std::move(options)), file_bytes_(options_.file_bytes) {
  ROWAN_CHECK(file_bytes_ > 0);
  ROWAN_CHECK(file_bytes_ % kLogBlockBytes == 0);
}

std::string LogFileSet::PathOf(uint64_t number) const {
  return options_.folder + "/" + LogFileName(number);
}

std::string LogFileSet::ScratchPath() const { return options_.folder + "/redo_prepare.tmp"; }

LogFileHeader LogFileSet::HeaderOf(uint64_t number) const {
  return {options_.instance_id, number, file_bytes_};
}

Status LogFileSet::CheckFile(uint64_t number) {
  Result<std::unique_ptr<File>> file =
      options_.file_system->Open(PathOf(number), {.read_only = true});
  if (!file.ok()) return file.status();
  return CheckLogFileHeader(file.value().get(), HeaderOf(number));
}

Result<std::vector<uint64_t>> LogFileSet::ListNumbers() {
  const Result<std::vector<std::string>> names = options_.file_system->List(options_.folder);
  if (!names.ok()) return names.status();
  std::vector<uint64_t> numbers;
  for (const std::string& name : names.value()) {
    const std::optional<uint64_t> number = ParseLogFileName(name);
    if (number.has_value()) numbers.push_back(*number);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

Status LogFileSet::Create(Lsn end) {
  const Result<std::vector<uint64_t>> numbers = ListNumbers();
  if (!numbers.ok()) return numbers.status();
  std::lock_guard lock(mutex_);
  first_ = NumberOf(end.value());
  prepared_.store(first_, std::memory_order_release);
  const Status status = RemoveStrays(numbers.value());
  return status.ok() ? PrepareTwoLocked(first_, first_) : status;
}

Status LogFileSet::Recover(Lsn checkpoint, Lsn end) {
  const Result<std::vector<uint64_t>> numbers = ListNumbers();
  if (!numbers.ok()) return numbers.status();
  const uint64_t last = NumberOf(end.value());
  const uint64_t oldest = std::min(NumberOf(checkpoint.value()), last);
  std::lock_guard lock(mutex_);
  Status status = FindRun(numbers.value(), oldest, end);
  if (status.ok()) status = RemoveStrays(numbers.value());
  if (status.ok()) status = MakeDurable(checkpoint, end);
  return status.ok() ? PrepareTwoLocked(last, oldest) : status;
}

Status LogFileSet::PrepareTwoLocked(uint64_t number, uint64_t oldest) {
  Status status;
  while (status.ok() && prepared_.load(std::memory_order_relaxed) <= number + 1) {
    // An old file needs no space, which may be what there is none of.
    status = first_ < oldest ? RecycleLocked() : CreateLocked();
  }
  return status;
}

Status LogFileSet::FindRun(const std::vector<uint64_t>& numbers, uint64_t oldest, Lsn end) {
  const auto exists = [&numbers](uint64_t number) {
    return std::binary_search(numbers.begin(), numbers.end(), number);
  };
  // The file with the last byte of the log. The one behind it may not be there yet.
  const uint64_t last = NumberOf(end.value() - 1);
  uint64_t ready = oldest;
  for (; exists(ready); ++ready) {
    const Status status = CheckFile(ready);
    if (status.ok()) continue;
    if (!status.Is(Code::kCorrupt)) return status;
    // Behind the log's end a damaged file is only not ready.
    if (ready > last) break;
    LogError("Log file '{}': {}", PathOf(ready), status.message());
    return status;
  }
  if (ready <= last) {
    LogError("Log file '{}' is missing", PathOf(ready));
    return Status(Code::kCorrupt, "a log file is missing");
  }
  first_ = oldest;
  while (first_ > 0 && exists(first_ - 1)) --first_;
  prepared_.store(ready, std::memory_order_release);
  return Status::Ok();
}

Status LogFileSet::RemoveStrays(const std::vector<uint64_t>& numbers) {
  FileSystem* file_system = options_.file_system;
  bool removed = false;
  const auto remove = [&](const std::string& path) {
    const Status status = file_system->Remove(path);
    if (status.Is(Code::kNotFound)) return Status::Ok();
    removed |= status.ok();
    return status;
  };
  Status status = remove(ScratchPath());
  // From the end, each durably gone before the next: a gap in the numbers counts as a loss.
  for (auto number = numbers.rbegin(); number != numbers.rend() && status.ok(); ++number) {
    const bool behind = *number >= prepared_.load(std::memory_order_relaxed);
    if (!behind && *number >= first_) continue;
    status = remove(PathOf(*number));
    if (behind && removed && status.ok()) status = file_system->SyncDirectory(options_.folder);
  }
  if (removed && status.ok()) status = file_system->SyncDirectory(options_.folder);
  return status;
}

Status LogFileSet::MakeDurable(Lsn checkpoint, Lsn end) {
  const uint64_t oldest = std::min(checkpoint, end).value();
  // Files behind the end count as ready, so their headers must be on disk as well.
  for (uint64_t number = NumberOf(oldest); number < prepared_.load(); ++number) {
    const uint64_t first = std::max(oldest, number * file_bytes_);
    const uint64_t last = std::clamp(end.value(), first, EndOf(number));
    const Status status = RewriteFile(number, first, last);
    if (!status.ok()) return status;
  }
  return options_.file_system->SyncDirectory(options_.folder);
}

Status LogFileSet::RewriteFile(uint64_t number, uint64_t start, uint64_t end) {
  Result<std::shared_ptr<File>> file = Open(number, {});
  if (!file.ok()) return file.status();
  AlignedBuffer chunk(kRewriteChunkBytes);
  const auto rewrite = [&](uint64_t offset, size_t size_bytes) {
    const MutableBytes bytes = chunk.span().first(size_bytes);
    const Status status = (*file)->Read(offset, bytes);
    return status.ok() ? (*file)->Write(offset, bytes) : status;
  };
  Status status = rewrite(0, kLogFileHeaderBytes);
  const uint64_t first = LogBlockStart(start);
  const uint64_t last = std::min(LogBlockEnd(end), EndOf(number));
  for (uint64_t position = first; position < last && status.ok();
       position += kRewriteChunkBytes) {
    status = rewrite(OffsetOf(position), std::min<uint64_t>(kRewriteChunkBytes, last - position));
  }
  return status.ok() ? (*file)->Sync(SyncMethod::kFsync) : status;
}

Result<std::shared_ptr<File>> LogFileSet::Open(uint64_t number, FileOptions options) {
  Result<std::unique_ptr<File>> file = options_.file_system->Open(PathOf(number), options);
  if (!file.ok()) return file.status();
  return std::shared_ptr<File>(std::move(file).value());
}

Result<bool> LogFileSet::Step(const Aim& aim) {
  std::lock_guard lock(mutex_);
  const uint64_t oldest_needed = NumberOf(aim.safe.value());
  const uint64_t limit = oldest_needed + aim.files_max;
  const uint64_t ready = prepared_.load(std::memory_order_relaxed);
  Status status;
  if (first_ < oldest_needed) {
    status = ready < limit ? RecycleLocked() : RemoveLocked();
  } else if (ready < limit && ready * file_bytes_ < aim.wanted_end) {
    status = CreateLocked();
  } else {
    return false;
  }
  if (!status.ok()) return status;
  return true;
}

Status LogFileSet::Require(uint64_t number) {
  if (number < prepared_.load(std::memory_order_acquire)) return Status::Ok();
  std::lock_guard lock(mutex_);
  ShortageWait wait("Preparing a redo log file");
  while (prepared_.load(std::memory_order_relaxed) <= number) {
    const Status status = CreateLocked();
    if (IsResourceShortage(status) && wait.Again(static_cast<int>(status.detail()))) continue;
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

Status LogFileSet::CreateLocked() {
  const uint64_t number = prepared_.load(std::memory_order_relaxed);
  FileSystem* file_system = options_.file_system;
  Status status = FillScratch();
  if (status.ok()) status = file_system->Rename(ScratchPath(), PathOf(number));
  if (status.ok()) status = file_system->SyncDirectory(options_.folder);
  if (!status.ok()) {
    // Gives back what was taken of a full disk; Recover removes it otherwise.
    file_system->Remove(ScratchPath()).Ignore();
    return status;
  }
  prepared_.store(number + 1, std::memory_order_release);
  return Status::Ok();
}

Status LogFileSet::FillScratch() {
  Result<std::unique_ptr<File>> opened =
      options_.file_system->Open(ScratchPath(), {.create = true, .spare = true});
  if (!opened.ok()) return opened.status();
  File* file = opened.value().get();
  const AlignedBuffer zeros(kZeroChunkBytes);
  const uint64_t end = kLogFileHeaderBytes + file_bytes_;
  uint64_t synced = 0;
  for (uint64_t offset = 0; offset < end;) {
    const uint64_t chunk = std::min<uint64_t>(zeros.size(), end - offset);
    Status status = file->Write(offset, zeros.span().first(chunk));
    offset += chunk;
    if (status.ok() && offset - synced >= kZeroSyncBytes) {
      status = file->Sync(SyncMethod::kFdatasync);
      synced = offset;
    }
    if (!status.ok()) return status;
  }
  const Status status =
      WriteLogFileHeader(file, HeaderOf(prepared_.load(std::memory_order_relaxed)));
  if (!status.ok()) return status;
  return file->Sync(SyncMethod::kFsync);
}

Status LogFileSet::RecycleLocked() {
  const uint64_t number = prepared_.load(std::memory_order_relaxed);
  Result<std::shared_ptr<File>> file = Open(first_, {.spare = true});
  if (!file.ok()) return file.status();
  Status status = WriteLogFileHeader(file.value().get(), HeaderOf(number));
  if (status.ok()) status = file.value()->Sync(SyncMethod::kFsync);
  if (status.ok()) status = options_.file_system->Rename(PathOf(first_), PathOf(number));
  if (status.ok()) status = options_.file_system->SyncDirectory(options_.folder);
  if (!status.ok()) return status;
  ++first_;
  prepared_.store(number + 1, std::memory_order_release);
  return Status::Ok();
}

Status LogFileSet::RemoveLocked() {
  Status status = options_.file_system->Remove(PathOf(first_));
  if (status.ok()) status = options_.file_system->SyncDirectory(options_.folder);
  if (status.ok()) ++first_;
  return status;
}

}  // namespace rowan
