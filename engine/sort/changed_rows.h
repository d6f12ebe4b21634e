// SPDX-License-Identifier: GPL-2.0-only
// ChangedRows: the clustered keys of the rows that any session changes while an index of their
// table is being built, whatever becomes of the change. The builder compares these rows between two
// snapshots (engine/build/index_build.h). Kept in memory up to a limit, then in a scratch file; on
// disk, too, up to a bound. Thread safety: all members.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/bytes.h"
#include "base/mutex.h"
#include "base/status.h"
#include "engine/sort/entry_sorter.h"

namespace rowan {

/// The message of a kTooBig: more was changed than may be noted.
inline constexpr char kTooManyChanges[] = "too many changes beside the building of an index";

class ChangedRows {
 public:
  struct Limits {
    size_t memory_bytes = 0;          ///< for keys, before they go to a file
    uint64_t bytes_max = UINT64_MAX;  ///< of keys added between two calls of Take
  };

  /// `name` tells the scratch files of one folder apart.
  ChangedRows(SortSpace space, std::string name, const Limits& limits);

  /// Failure to keep a key is the builder's, not the caller's: Take returns it, and no more keys
  /// are kept.
  void Add(Bytes key);
  /// Keys added since the last Take, possibly repeated; ready for StartReading. kTooBig with
  /// kTooManyChanges, and errors of writing a file.
  Result<std::unique_ptr<EntrySorter>> Take();
  /// Added since the last Take.
  [[nodiscard]] uint64_t count() const;
  /// The error that Take would return.
  [[nodiscard]] Status failure() const;

 private:
  [[nodiscard]] std::unique_ptr<EntrySorter> NewSorterLocked() ROWAN_REQUIRES(mutex_);

  const SortSpace space_;
  const std::string name_;
  const Limits limits_;
  mutable Mutex mutex_{LatchRank::kChangedRows};
  uint32_t turn_ ROWAN_GUARDED_BY(mutex_) = 0;
  std::unique_ptr<EntrySorter> keys_ ROWAN_GUARDED_BY(mutex_);
  uint64_t count_ ROWAN_GUARDED_BY(mutex_) = 0;
  uint64_t bytes_ ROWAN_GUARDED_BY(mutex_) = 0;  ///< of the keys, as a file has them
  Status failure_ ROWAN_GUARDED_BY(mutex_);
};

}  // namespace rowan
