// SPDX-License-Identifier: GPL-2.0-only
#include "storage/backup_clone.h"

#include <memory>

#include "io/file.h"
#include "io/space_files.h"

namespace rowan {
namespace {

/// A file may have been growing: the part of a page at its end is cut off.
Result<uint32_t> Settle(FileSystem* files, const std::string& path, uint32_t page_size_bytes) {
  Result<std::unique_ptr<File>> file = files->Open(path, {});
  if (!file.ok()) return file.status();
  const Result<uint64_t> size = file.value()->Size();
  if (!size.ok()) return size.status();
  const auto pages = static_cast<uint32_t>(size.value() / page_size_bytes);
  Status status = (*file)->Truncate(uint64_t{pages} * page_size_bytes);
  if (!status.ok()) return status;
  status = (*file)->Sync(SyncMethod::kFsync);
  if (!status.ok()) return status;
  return pages;
}

}  // namespace

Result<uint32_t> CloneSpace(Storage* storage, SpaceId space, const std::string& folder,
                            const CloneFunction& clone) {
  FileSystem* const files = storage->file_system();
  const std::string source = storage->files()->PathOf(space);
  const std::string target = folder + "/" + SpaceFileName(space);
  const Status cloned = storage->pool()->WithoutWrites([&] { return clone(source, target); });
  if (!cloned.ok()) return cloned;
  Result<uint32_t> pages = Settle(files, target, storage->options().page_size_bytes);
  // A file that is dropped is cut bit by bit before it is removed.
  if (pages.ok() && !storage->files()->IsLive(space)) {
    return Status(Code::kNotFound, "the tablespace was dropped");
  }
  return pages;
}

}  // namespace rowan
