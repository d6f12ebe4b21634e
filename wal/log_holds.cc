// SPDX-License-Identifier: GPL-2.0-only
#include "wal/log_holds.h"

#include <algorithm>
#include <utility>

#include "base/logging.h"

namespace rowan {

LogHolds::Id LogHolds::Add(Reader reader) {
  const MutexLock lock(&mutex_);
  return readers_.insert(readers_.end(), std::move(reader));
}

void LogHolds::Remove(Id id) {
  const MutexLock lock(&mutex_);
  readers_.erase(id);
}

bool LogHolds::Advance(Id id, Lsn lsn) {
  const MutexLock lock(&mutex_);
  id->lsn = std::max(id->lsn, lsn);
  return !id->lost;
}

bool LogHolds::lost(Id id) const {
  const MutexLock lock(&mutex_);
  return id->lost;
}

Lsn LogHolds::Oldest(Lsn tail) {
  const MutexLock lock(&mutex_);
  Lsn oldest(UINT64_MAX);
  for (Reader& reader : readers_) {
    if (!reader.lost && tail.value() - std::min(tail, reader.lsn).value() > reader.bytes_max) {
      reader.lost = true;
      LogWarning(
          "The reader '{}' of the redo log is at LSN {}, more than {} bytes behind the end "
          "of the log at LSN {}: its part of the log is not kept any longer, it has to "
          "start over.",
          reader.name, reader.lsn.value(), reader.bytes_max, tail.value());
    }
    if (!reader.lost) oldest = std::min(oldest, reader.lsn);
  }
  return oldest;
}

bool LogHolds::GiveUpBelow(Lsn lsn) {
  const MutexLock lock(&mutex_);
  bool any = false;
  for (Reader& reader : readers_) {
    if (reader.lost || reader.lsn >= lsn) continue;
    reader.lost = true;
    any = true;
    LogWarning(
        "The disk is full, so the part of the redo log from LSN {} on is not kept any "
        "longer for its reader '{}': it has to start over.",
        reader.lsn.value(), reader.name);
  }
  return any;
}

std::vector<LogHolds::Reader> LogHolds::List() const {
  const MutexLock lock(&mutex_);
  return {readers_.begin(), readers_.end()};
}

}  // namespace rowan
