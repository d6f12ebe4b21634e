// SPDX-License-Identifier: GPL-2.0-only
// CarriedTail: what the last run's log says of the end of the carried file
// (storage/carried_file.h). Recovery shows it the records while it scans the log; the owner of the
// file then has the file brought to where it counts, before anything else is appended to it. Until
// that is settled no checkpoint is published, so the records stay.
// Thread safety: one thread at a time.
#pragma once

#include <cstdint>
#include <string>

#include "base/ids.h"
#include "base/status.h"
#include "io/file.h"
#include "storage/carried_bytes.h"
#include "wal/control_data.h"

namespace rowan {

class CarriedTail {
 public:
  /// `control`: as the last run left it.
  CarriedTail(FileSystem* file_system, std::string folder, const ControlData& control);

  /// A record of kCarriedBytes in the group at `group`. kCorrupt.
  Status Note(Bytes body, Lsn group);
  /// The scan is through: the log ends at `end`.
  void EndScan(Lsn end) { log_end_ = end; }

  /// A file was being carried.
  [[nodiscard]] bool found() const { return control_.carried.active; }
  [[nodiscard]] const std::string& name() const { return control_.carried.name; }
  [[nodiscard]] uint32_t mark() const { return control_.carried.mark; }
  /// Where the file must end.
  [[nodiscard]] uint64_t end_bytes() const { return end_bytes_; }

  struct Restored {
    uint64_t bytes_written = 0;  ///< that the file lacked, or had otherwise
    uint64_t bytes_cut = 0;      ///< that nobody was told of
  };
  /// Makes the file at `path`, or a copy of it, end where it counts, durably. Can be done again.
  /// kCorrupt: it lacks what was durable in it.
  Result<Restored> RestoreTo(const std::string& path) const;

 private:
  Status WritePieces(File* file, Restored* restored) const;

  FileSystem* const file_system_;
  const std::string folder_;
  const ControlData control_;
  Lsn pieces_begin_{0};  ///< no piece of the file starts below; 0: there is none
  Lsn log_end_{0};
  uint64_t end_bytes_;
};

}  // namespace rowan
