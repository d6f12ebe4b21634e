// SPDX-License-Identifier: GPL-2.0-only
// The files of the log, numbered without gaps. Each is made ready before the log reaches it, so
// that writing the log never changes a file's size or extents:
//   new      zeros and header written to a scratch name, synced, renamed into place
//   recycled header with its next number and place written and synced, renamed; old bytes stay,
//            their checksums do not fit the new place. A file keeps its size
//   removed  when the capacity shrank, or the file is much too small or too large for it
// The folder is synced after every rename and removal before anything relies on it. A crash leaves
// at most a scratch file, a lowest file with the header of a later number (nothing below the
// checkpoint is read), or unexpected files; Recover removes those. LogFileBytes decides how large a
// new file is. Thread safety: all members from any thread after Recover.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/mutex.h"
#include "base/status.h"
#include "io/file.h"
#include "wal/log_file_header.h"
#include "wal/log_file_list.h"
#include "wal/log_file_map.h"
#include "wal/log_holds.h"

namespace rowan {

class LogFileSet {
 public:
  struct Options {
    FileSystem* file_system = nullptr;
    std::string folder;
    InstanceId instance_id{};
    uint64_t capacity_bytes = 0;
  };
  explicit LogFileSet(Options options);

  /// For a new log: makes the file that holds `end` and the next, so that the log can always move
  /// on to a second file and leave the first for recycling; removes the files of an interrupted
  /// creation.
  Status Create(Lsn end);
  /// Finds the existing files and ensures that the one that holds `end` and the next exist.
  /// Rewrites everything from `checkpoint` to `end` to make it durable: an earlier process may not
  /// have synced it, or its sync failed and the kernel takes the pages for clean.
  Status Recover(Lsn checkpoint, Lsn end);

  /// What the background thread aims at.
  struct Aim {
    Lsn safe;        ///< recovery needs nothing below it
    Lsn tail;        ///< of the log
    Lsn wanted_end;  ///< files should be ready up to here
  };
  /// Takes one step (recycles, removes or creates one file) towards the aim; false if none is left.
  /// kNoSpace and a shortage (io/resource_shortage.h) leave everything unchanged.
  Result<bool> Step(const Aim& aim);
  /// Ensures that the file of `position` is ready, whatever the aim, and returns it. Waits for a
  /// Step in progress.
  Result<LogFilePlace> Require(Lsn position);
  /// Files made or recycled from now on suit this capacity.
  void SetCapacity(uint64_t capacity_bytes) {
    capacity_.store(capacity_bytes, std::memory_order_release);
  }

  /// Keeps the files from `reader.lsn` on. kNotFound when they are already gone.
  Result<LogHolds::Id> Hold(LogHolds::Reader reader);
  [[nodiscard]] LogHolds& holds() { return holds_; }
  /// How many files there are.
  [[nodiscard]] uint64_t files() const { return map_.files(); }

  /// See LogFileMap::Of.
  [[nodiscard]] LogFilePlace PlaceOf(Lsn position) const { return map_.Of(position); }
  [[nodiscard]] std::optional<LogFilePlace> FindPlace(Lsn position) const {
    return map_.Find(position);
  }
  /// Bytes of the stream in the next new file.
  [[nodiscard]] uint64_t NextFileBytes() const;
  /// End of the oldest file.
  [[nodiscard]] Lsn FirstEnd() const { return map_.First().end; }
  /// End of the last ready file.
  [[nodiscard]] Lsn PreparedEnd() const { return map_.end(); }
  /// REQUIRES: the file is ready.
  Result<std::shared_ptr<File>> Open(uint64_t number, FileOptions options);

  [[nodiscard]] const std::string& folder() const { return options_.folder; }
  [[nodiscard]] FileSystem* file_system() const { return options_.file_system; }

 private:
  [[nodiscard]] std::string PathOf(uint64_t number) const;
  [[nodiscard]] std::string ScratchPath() const;
  [[nodiscard]] LogFileHeader NextHeader(uint64_t file_bytes) const;
  Status FindRun(const std::vector<ListedLogFile>& files, Lsn oldest, Lsn end);
  Status RemoveStrays(const std::vector<ListedLogFile>& files);
  Status MakeDurable(Lsn oldest, Lsn end);
  Status RewriteFile(const LogFilePlace& place, Lsn start, Lsn end);
  /// Ensures that the file that holds `end` and the next exist; files before that of `oldest` are
  /// not needed.
  Status PrepareTwoLocked(Lsn end, Lsn oldest) ROWAN_REQUIRES(mutex_);
  /// REQUIRES: the first file is no longer needed.
  Status ReuseFirstLocked(const Aim& aim, bool room) ROWAN_REQUIRES(mutex_);
  Status CreateLocked() ROWAN_REQUIRES(mutex_);
  /// Afterwards the file is whole and durable under its name, or does not exist.
  Status MakeFile(const LogFileHeader& header);
  Status FillScratch(const LogFileHeader& header);
  Status RecycleLocked() ROWAN_REQUIRES(mutex_);
  Status RemoveLocked() ROWAN_REQUIRES(mutex_);

  const Options options_;
  std::atomic<uint64_t> capacity_;
  LogHolds holds_;
  LogFileMap map_;  // changed with mutex_ held
  /// Held while files are made; orders holds and the removal of files.
  Mutex mutex_{LatchRank::kLogFiles};
};

/// How much a new file holds: a sixteenth of the capacity up to files of 64 MiB, so that even a
/// small log has several files. A larger log gets larger files as it grows, up to a 64th of the
/// capacity. That makes 16 to 64 files, about twice as many while it grows.
uint64_t LogFileBytes(uint64_t capacity_bytes, uint64_t ready_bytes);

}  // namespace rowan
