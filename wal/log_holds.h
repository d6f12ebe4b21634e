// SPDX-License-Identifier: GPL-2.0-only
// LogHolds: named readers that need the log from a position on, such as a backup or an archive. The
// files from the oldest hold on are neither recycled nor removed. Writers never wait for a reader:
// the log takes files beyond its capacity. So that a forgotten reader does not fill the disk, each
// says how far it may fall behind; beyond that, or when the disk is full for a new file, its hold
// is lost, with a warning, and the reader must start over.
// A hold lives in memory: it ends with the process. Thread safety: all members.
#pragma once

#include <cstdint>
#include <list>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/mutex.h"

namespace rowan {

class LogHolds {
 public:
  struct Reader {
    std::string name;
    Lsn lsn;                 ///< nothing below it is needed
    uint64_t bytes_max = 0;  ///< the end of the log may be this far ahead of it
    bool lost = false;
  };
  using Id = std::list<Reader>::iterator;

  /// That part of the log must still exist; see Log::Hold.
  Id Add(Reader reader);
  void Remove(Id id);
  /// False if the hold was lost.
  bool Advance(Id id, Lsn lsn);
  [[nodiscard]] bool lost(Id id) const;
  /// The smallest position that is held; UINT64_MAX if none. Holds too far behind `tail` are lost.
  Lsn Oldest(Lsn tail);
  /// Revokes holds below `lsn`, because the disk is full. False if there was none.
  bool GiveUpBelow(Lsn lsn);
  [[nodiscard]] std::vector<Reader> List() const;

 private:
  mutable Mutex mutex_{LatchRank::kLogHolds};
  std::list<Reader> readers_ ROWAN_GUARDED_BY(mutex_);
};

}  // namespace rowan
