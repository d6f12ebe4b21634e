// SPDX-License-Identifier: GPL-2.0-only
// ShadowFileSystem: for an instance that is only read. Files below are opened for reading and never
// changed; writes, creations, renames and removals happen in memory only and are seen through this
// object. So an instance can be recovered and read without changing a byte of it, even on a disk
// that permits no writes.
//
// Memory: what is written, in blocks of 4 KiB; blocks of zeros take next to none. Durability: none.
// Thread safety: all members; for files as File says.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "io/file.h"

namespace rowan {

class ShadowFileSystem : public FileSystem {
 public:
  /// `below` outlives it.
  explicit ShadowFileSystem(FileSystem* below) : below_(below) {}

  Result<std::unique_ptr<File>> Open(const std::string& path, FileOptions options) override;
  Status Rename(const std::string& source, const std::string& target) override;
  Status Remove(const std::string& path) override;
  Result<bool> Exists(const std::string& path) override;
  Result<std::vector<std::string>> List(const std::string& folder) override;
  /// kReadOnly.
  Status CreateLink(const std::string& target, const std::string& path) override;
  Result<std::string> ReadLink(const std::string& path) override;
  /// kReadOnly unless it exists.
  Status CreateFolder(const std::string& path) override;
  Status SyncDirectory(const std::string& folder) override;
  Result<uint32_t> AtomicWriteUnitMax(const std::string& path) override;
  /// kUnsupported: its files have no descriptors.
  Result<std::unique_ptr<AsyncQueue>> MakeQueue(QueueKind kind, uint32_t entries,
                                                std::string* refusal) override;

 private:
  class Contents;
  class ShadowFile;

  /// Null: removed here. kNotFound: neither here nor below.
  Result<std::shared_ptr<Contents>> FindLocked(const std::string& path) ROWAN_REQUIRES(mutex_);

  FileSystem* const below_;
  Mutex mutex_{LatchRank::kShadowNames};
  /// Names that were opened or changed here; null: removed.
  std::map<std::string, std::shared_ptr<Contents>> names_ ROWAN_GUARDED_BY(mutex_);
};

}  // namespace rowan
