// SPDX-License-Identifier: GPL-2.0-only
#include "engine/catalog/orphan_files.h"

#include <unordered_set>

#include "base/format.h"
#include "base/logging.h"
#include "buffer/buffer_pool.h"
#include "io/aligned_buffer.h"
#include "io/placed_file.h"
#include "io/space_files.h"

namespace rowan {
namespace {

/// A file whose creation was interrupted has only its few initial pages. Larger ones are not
/// checked for being blank.
constexpr uint32_t kBlankPagesMax = 1024;

Status Stopping() { return Status(Code::kInterrupted, "files are judged at the next start"); }

}  // namespace

Status OrphanFiles::Collect() {
  std::unordered_set<SpaceId> owned{kSystemSpace, kUndoSpace};
  for (const TableDef& definition : catalog_->Definitions()) owned.insert(definition.space);
  Result<std::vector<SpaceId>> spaces = allocator_->pool()->files()->ListFiles();
  if (!spaces.ok()) return spaces.status();
  const MutexLock lock(&mutex_);
  for (const SpaceId space : *spaces) {
    if (!owned.contains(space)) files_.push_back(space);
  }
  return Status::Ok();
}

Status OrphanFiles::NoteCoordinatorDone() {
  const MutexLock lock(&mutex_);
  coordinator_done_ = true;
  return CheckFilesLocked();
}

Status OrphanFiles::NoteRollbackDone() {
  const MutexLock lock(&mutex_);
  rollback_done_ = true;
  return CheckFilesLocked();
}

Status OrphanFiles::NoteRedoDone() {
  const MutexLock lock(&mutex_);
  redo_done_ = true;
  return CheckFilesLocked();
}

Status OrphanFiles::NotePurgeDone() {
  const MutexLock lock(&mutex_);
  purge_done_ = true;
  return CheckFilesLocked();
}

void OrphanFiles::NoteRollbackAgain() {
  const MutexLock lock(&mutex_);
  rollback_done_ = false;
}

bool OrphanFiles::pending() const {
  const MutexLock lock(&mutex_);
  return !files_.empty();
}

Status OrphanFiles::CheckFilesLocked() {
  if (!coordinator_done_ || !rollback_done_ || !redo_done_ || !purge_done_) return Status::Ok();
  bool flushed = false;
  while (!files_.empty()) {
    if (IsStopping()) return Stopping();
    const SpaceId space = files_.back();
    const Status status = CheckFile(space, &flushed);
    // Not found: purge or the rollback was faster.
    if (status.Is(Code::kInterrupted)) return status;
    if (!status.ok() && !status.Is(Code::kNotFound)) {
      const SpaceFiles* const files = allocator_->pool()->files();
      const std::string place = files->PlaceOf(space);
      if (place == files->PathOf(space)) return status;
      // A problem of one disk is no reason to leave files on others.
      LogWarning("'{}', which no table owns, is left as it is until the next start: {}.", place,
                 status.message());
    }
    files_.pop_back();
  }
  return Status::Ok();
}

Status OrphanFiles::CheckFile(SpaceId space, bool* flushed) {
  SpaceFiles* const files = allocator_->pool()->files();
  const std::string path = files->PlaceOf(space);
  const bool dropped = catalog_->WasDropped(space);
  if (!files->IsLive(space)) {
    if (path == files->PathOf(space)) return Status(Code::kNotFound);
    if (!dropped) {
      // A dangling link: left by an interrupted CREATE, or its disk is missing.
      const Status opened = files->Open(space);
      if (IsPlaceMissing(opened)) return files->RemoveDeadLink(space);
      if (!opened.ok()) return opened;
      // Its disk has come back: like an existing file.
    }
  }
  if (dropped) {
    LogInfo("Removing '{}', left over from a DROP that a crash cut short.", path);
    return allocator_->DropSpace(space);
  }
  // Changes by redo must be in the file before it is judged or moved. From then on no page of any
  // of these files changes.
  if (!*flushed) {
    const Status status = allocator_->pool()->FlushAndCheckpoint(FlushReason::kStart,
                                                                 [this] { return IsStopping(); });
    if (!status.ok()) return status;
    *flushed = true;
  }
  const Result<bool> blank = IsBlank(space);
  if (!blank.ok()) return blank.status();
  if (!blank.value()) return SetAside(space);
  LogInfo("Removing '{}', left over from a CREATE that a crash cut short.", path);
  return allocator_->DropSpace(space);
}

Result<bool> OrphanFiles::IsBlank(SpaceId space) const {
  SpaceFiles* files = allocator_->pool()->files();
  const Result<uint32_t> pages = files->PageCount(space);
  if (!pages.ok()) return pages.status();
  if (pages.value() > kBlankPagesMax) return false;
  AlignedBuffer buffer(files->page_size_bytes());
  const MutableBytes page = buffer.span();
  for (uint32_t number = 0; number < pages.value(); ++number) {
    const Status status = files->ReadPage({space, PageNumber(number)}, page);
    if (!status.ok()) return status;
    if (!IsAllZero(page)) return false;
  }
  return true;
}

Status OrphanFiles::SetAside(SpaceId space) {
  SpaceFiles* files = allocator_->pool()->files();
  const std::string folder = files->folder() + "/" + kLostFolderName;
  Status status = file_system_->CreateFolder(folder);
  if (!status.ok()) return status;
  status = file_system_->SyncDirectory(files->folder());
  if (!status.ok()) return status;
  const std::string path = files->PathOf(space);
  const std::string name = path.substr(path.rfind('/') + 1);
  std::string target = folder + "/" + name;
  for (uint32_t copy = 1;; ++copy) {
    const Result<bool> taken = file_system_->Exists(target);
    if (!taken.ok()) return taken.status();
    if (!taken.value()) break;
    target = Format("{}/{}.{}", folder, name, copy);
  }
  status = allocator_->SetAsideSpace(space, target);
  if (!status.ok()) return status;
  LogWarning(
      "No table of the catalog owns '{}', and nothing shows that its table was dropped or "
      "never came to be. It was moved to '{}', whole. If tables are missing, the catalog "
      "(space {}) may be older than the instance: docs/durability.md, \"Files in lost/\".",
      path, target, kSystemSpace.value());
  return status;
}

}  // namespace rowan
