// SPDX-License-Identifier: GPL-2.0-only
// DamagedSpaces: tablespaces that permanently lack changes, because redo could not apply what the
// log had for them. The log is recycled afterwards, so the mark must outlive it: a file
// `space_<id>.damaged` next to the space's own, with a sentence for the operator. A marked space is
// refused until its table is dropped. Also lists spaces that wait: they have lost nothing, but what
// they lack cannot be applied now (storage/recovery.h).
//
// Invariant: the mark is durable before a checkpoint discards the records.
// Thread safety: all members; Load comes before all others.
#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "base/ids.h"
#include "base/mutex.h"
#include "base/status.h"
#include "io/file.h"

namespace rowan {

class DamagedSpaces {
 public:
  DamagedSpaces(FileSystem* file_system, std::string folder)
      : file_system_(file_system), folder_(std::move(folder)) {}

  Status Load();
  [[nodiscard]] bool Contains(SpaceId space) const;
  [[nodiscard]] std::vector<SpaceId> All() const;
  [[nodiscard]] bool Waits(SpaceId space) const;
  [[nodiscard]] std::vector<SpaceId> Waiting() const;
  void SetWaits(SpaceId space, bool waits);
  /// Durable on return. `why` is a sentence.
  Status Mark(SpaceId space, const std::string& why);
  /// The space was dropped. A mark that remains because of a failure is harmless: space ids are
  /// never reused.
  void Forget(SpaceId space);
  [[nodiscard]] std::string PathOf(SpaceId space) const;

 private:
  FileSystem* const file_system_;
  const std::string folder_;
  mutable SharedMutex mutex_{LatchRank::kDamagedSpaces};
  std::unordered_set<SpaceId> spaces_ ROWAN_GUARDED_BY(mutex_);
  std::unordered_set<SpaceId> waiting_ ROWAN_GUARDED_BY(mutex_);
};

}  // namespace rowan
