// SPDX-License-Identifier: GPL-2.0-only
// The files of the log: a gapless run of numbers [first, prepared). Each is made ready before the
// log reaches it, so that writing the log never changes a file's size or extents:
//   new      zeros and header written to a scratch name, synced, renamed into place
//   recycled header of its next number written and synced, renamed; old bytes stay, their checksums
//            do not fit the new place
//   removed  when the capacity shrank
// Every rename and removal is followed by a sync of the folder before anything relies on it.
// A crash leaves at most a scratch file, a lowest file with the header of a later number (nothing
// below the checkpoint is read), or files that nobody expects; Recover removes those.
// Thread safety: all members after Recover, from any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "io/file.h"
#include "wal/log_file_header.h"

namespace rowan {

class LogFileSet {
 public:
  struct Options {
    FileSystem* file_system = nullptr;
    std::string folder;
    std::array<uint8_t, 16> instance_id{};
    uint64_t file_bytes = 0;  ///< bytes of the stream in a file; a multiple of 4 KiB
  };
  explicit LogFileSet(Options options);

  /// For a new log: makes the file that `end` lies in and the next, so that the log can always move
  /// on to a second file and leave the first to recycling; files of an interrupted creation go.
  Status Create(Lsn end);
  /// Finds the files there are and makes sure of the one `end` lies in and the next. Everything
  /// from `checkpoint` to `end` is durable afterwards. It is written once more for that: an earlier
  /// process may not have synced it, or its sync failed, and the kernel takes the pages for clean.
  Status Recover(Lsn checkpoint, Lsn end);

  /// What the background thread should aim at.
  struct Aim {
    Lsn safe;               ///< nothing below is needed any more
    uint64_t files_max = 0; ///< how many files may exist
    uint64_t wanted_end = 0;///< files should be ready up to here
  };
  /// Takes one step (recycles, removes or creates one file) towards the aim; false if there is none
  /// to take. kNoSpace and a shortage (io/resource_shortage.h) leave everything as it was.
  Result<bool> Step(const Aim& aim);
  /// Makes sure that the file `number` is ready, whatever the aim. Waits for a Step in progress.
  Status Require(uint64_t number);

  [[nodiscard]] uint64_t NumberOf(uint64_t position) const { return position / file_bytes_; }
  [[nodiscard]] uint64_t EndOf(uint64_t number) const { return (number + 1) * file_bytes_; }
  [[nodiscard]] uint64_t OffsetOf(uint64_t position) const {
    return kLogFileHeaderBytes + position % file_bytes_;
  }
  [[nodiscard]] uint64_t file_bytes() const { return file_bytes_; }
  /// End of the last ready file.
  [[nodiscard]] uint64_t PreparedEnd() const {
    return prepared_.load(std::memory_order_acquire) * file_bytes_;
  }
  /// REQUIRES that the file is ready.
  Result<std::shared_ptr<File>> Open(uint64_t number, FileOptions options);

  [[nodiscard]] const std::string& folder() const { return options_.folder; }
  [[nodiscard]] FileSystem* file_system() const { return options_.file_system; }

 private:
  [[nodiscard]] std::string PathOf(uint64_t number) const;
  [[nodiscard]] std::string ScratchPath() const;
  [[nodiscard]] LogFileHeader HeaderOf(uint64_t number) const;
  Status CheckFile(uint64_t number);
  Result<std::vector<uint64_t>> ListNumbers();
  Status FindRun(const std::vector<uint64_t>& numbers, uint64_t oldest, Lsn end);
  Status RemoveStrays(const std::vector<uint64_t>& numbers);
  Status MakeDurable(Lsn checkpoint, Lsn end);
  Status RewriteFile(uint64_t number, uint64_t start, uint64_t end);
  /// Makes sure of the files `number` and `number` + 1; those below `oldest` are not needed.
  Status PrepareTwoLocked(uint64_t number, uint64_t oldest);
  Status CreateLocked();
  Status FillScratch();
  Status RecycleLocked();
  Status RemoveLocked();

  const Options options_;
  const uint64_t file_bytes_;
  std::mutex mutex_;
  uint64_t first_ = 0;                 // guarded by mutex_
  std::atomic<uint64_t> prepared_{0};  // one behind the last ready file; stored under mutex_
};

}  // namespace rowan
