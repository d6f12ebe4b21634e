// SPDX-License-Identifier: GPL-2.0-only
// LogFileMap: which part of the stream each ready file of the log holds. File numbers and parts
// have no gaps; the parts may have different sizes. Thread safety: changes by one thread at a time,
// everything else from any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "base/ids.h"
#include "base/mutex.h"
#include "wal/log_file_header.h"

namespace rowan {

/// A file of the log: the bytes [start, end) of the stream. Empty if the file is not ready yet.
struct LogFilePlace {
  uint64_t number = 0;
  Lsn start;
  Lsn end;

  [[nodiscard]] bool Holds(Lsn position) const { return position >= start && position < end; }
  [[nodiscard]] uint64_t bytes() const { return end - start; }
  /// Where in the file the byte at `position` lies.
  [[nodiscard]] uint64_t OffsetOf(Lsn position) const {
    return kLogFileHeaderBytes + (position - start);
  }
};

class LogFileMap {
 public:
  /// Empties the map; the first file will be `number` and begin at `start`.
  void Reset(uint64_t number, Lsn start);
  /// Adds a file after the last one.
  void Append(uint64_t file_bytes);
  /// Removes the first file. REQUIRES: there is one.
  void RemoveFirst();

  /// The file that holds a position; if the position is not below end(), the file that would come
  /// next, as an empty place. REQUIRES: not below the first file.
  [[nodiscard]] LogFilePlace Of(Lsn position) const;
  /// The same; nullopt below the first file.
  [[nodiscard]] std::optional<LogFilePlace> Find(Lsn position) const;
  /// REQUIRES: the number of a file in the map, or the next one.
  [[nodiscard]] LogFilePlace OfNumber(uint64_t number) const;
  [[nodiscard]] LogFilePlace First() const;
  /// Number of the next file.
  [[nodiscard]] uint64_t next_number() const;
  /// Bytes of the stream in all files.
  [[nodiscard]] uint64_t bytes() const;
  [[nodiscard]] uint64_t files() const;
  /// After the last byte of the last file.
  [[nodiscard]] Lsn end() const { return end_.load(std::memory_order_acquire); }

 private:
  [[nodiscard]] LogFilePlace AtLocked(size_t index) const ROWAN_REQUIRES(mutex_);

  mutable Mutex mutex_{LatchRank::kLogFileMap};  // never held during I/O
  uint64_t first_number_ ROWAN_GUARDED_BY(mutex_) = 0;
  Lsn first_start_ ROWAN_GUARDED_BY(mutex_);
  std::deque<Lsn> ends_ ROWAN_GUARDED_BY(mutex_);  // of each file
  std::atomic<Lsn> end_{kNoLsn};                   // stored under mutex_
};

}  // namespace rowan
