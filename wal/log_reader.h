// SPDX-License-Identifier: GPL-2.0-only
// LogReader: sequential scan of the log for recovery, from a checkpoint to its end; distinguishes a
// torn tail from corruption by the durable marks (wal/group.h). Reads in large chunks, never the
// whole log. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/status.h"
#include "io/file.h"
#include "wal/control_data.h"
#include "wal/group.h"
#include "wal/log_source.h"

namespace rowan {

class LogReader {
 public:
  static Result<std::unique_ptr<LogReader>> Open(FileSystem* file_system, const std::string& folder,
                                                 const ControlData& control, Lsn start);
  struct Group {
    Lsn start;
    Lsn end;
    Bytes bytes;  ///< valid until the next call
  };
  /// kEndOfRange at the end of the log (end() is then where to append); kCorrupt names file and
  /// offset in the log message; kIoError.
  Status Next(Group* group);
  [[nodiscard]] Lsn end() const { return end_; }

 private:
  LogReader(FileSystem* file_system, const std::string& folder, const ControlData& control,
            Lsn start);

  /// No good group at the end read so far has a smaller epoch. Beyond the place where the last run
  /// began to append lie remains of earlier runs' torn tails, including whole groups; only the
  /// epoch distinguishes them from what that run appended.
  [[nodiscard]] uint32_t EpochMin() const;
  Status ReadGroup(Group* group);
  GroupCheck Check(Lsn position, Bytes* group, Status* status);
  Status CheckEnd();
  /// Call when no later group proves damage: kEndOfRange, or kCorrupt when the log was longer once.
  Status CheckNothingIsMissing();
  Status SearchMark(Lsn from, Lsn to, Lsn* found);
  [[nodiscard]] bool MayProveDamage(Lsn position, Bytes bytes) const;

  const ControlData control_;
  LogSource source_;
  Lsn end_;                  // after the last good group
  uint32_t epoch_last_ = 0;  // of the last good group
  Lsn newer_run_;            // where a group has an epoch unknown to the control file
  bool finished_ = false;
  Status verdict_;  // once finished
};

}  // namespace rowan
