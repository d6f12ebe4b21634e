// SPDX-License-Identifier: GPL-2.0-only
// LogReader: sequential scan of the log for recovery, from a checkpoint to its end; tells a torn
// tail from corruption by the durable marks (wal/group.h). Reads in large chunks, never the whole
// log. One thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/status.h"
#include "io/file.h"
#include "wal/control_file.h"

namespace rowan {

class LogReader {
 public:
  static Result<std::unique_ptr<LogReader>> Open(FileSystem* file_system, const std::string& folder,
                                                 const ControlData& control, Lsn start);
  ~LogReader();

  struct Group {
    Lsn start;
    Lsn end;
    Bytes bytes;  ///< valid until the next call
  };
  /// kEndOfRange at the end of the log (end() is then where to append); kCorrupt names file and
  /// offset in the log message; kIoError.
  Status Next(Group* group);
  [[nodiscard]] Lsn end() const;

 private:
  struct Impl;
  explicit LogReader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace rowan
