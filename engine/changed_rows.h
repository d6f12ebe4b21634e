// SPDX-License-Identifier: GPL-2.0-only
// ChangedRows: the clustered keys of the rows that were changed while an index of their table is
// being built, whoever changed them and whatever became of it. The builder compares these rows
// between two snapshots (engine/index_build.h). Kept in memory up to a limit, then in a scratch
// file. Thread safety: all members.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/bytes.h"
#include "base/mutex.h"
#include "base/status.h"
#include "engine/entry_sorter.h"

namespace rowan {

class ChangedRows {
 public:
  /// `name` tells the scratch files of one folder apart.
  ChangedRows(FileSystem* files, std::string folder, std::string name, size_t memory_bytes);

  /// A failure to keep the key is the builder's, not the caller's: Take returns it.
  void Add(Bytes key);
  /// Keys added since the last Take, the same one any number of times; ready for StartReading.
  Result<std::unique_ptr<EntrySorter>> Take();
  /// Added since the last Take.
  [[nodiscard]] uint64_t count() const;

 private:
  [[nodiscard]] std::unique_ptr<EntrySorter> NewSorterLocked() ROWAN_REQUIRES(mutex_);

  FileSystem* const files_;
  const std::string folder_;
  const std::string name_;
  const size_t memory_bytes_;
  mutable Mutex mutex_{LatchRank::kChangedRows};
  uint32_t turn_ ROWAN_GUARDED_BY(mutex_) = 0;
  std::unique_ptr<EntrySorter> keys_ ROWAN_GUARDED_BY(mutex_);
  uint64_t count_ ROWAN_GUARDED_BY(mutex_) = 0;
  Status failure_ ROWAN_GUARDED_BY(mutex_);
};

}  // namespace rowan
