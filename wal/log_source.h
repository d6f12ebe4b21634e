// SPDX-License-Identifier: GPL-2.0-only
// LogSource: the log's bytes by LSN, read through a window that slides over the files. A file that
// is missing, truncated or foreign ends what can be read. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/status.h"
#include "io/aligned_buffer.h"
#include "io/file.h"
#include "wal/log_file_list.h"
#include "wal/log_file_map.h"

namespace rowan {

class LogSource {
 public:
  LogSource(FileSystem* file_system, std::string folder, const InstanceId& instance_id);
  /// Call before anything else; files that a log in use gets later are not seen. kNewerFormat
  /// (logged): a newer build wrote a file.
  Status FindFiles();

  /// Makes at least `*size_bytes` bytes from `position` on visible; fewer (and lowers
  /// `*size_bytes`) when the log's files end earlier. The view may hold more. Valid until the next
  /// call.
  Status View(Lsn position, size_t* size_bytes, Bytes* view);

  // The file that holds a position or, if missing or damaged, must have held it.
  [[nodiscard]] std::string PathOf(Lsn position) const;
  [[nodiscard]] uint64_t OffsetOf(Lsn position) const {
    return PartOf(position).place.OffsetOf(position);
  }
  [[nodiscard]] LogFilePlace PlaceOf(Lsn position) const { return PartOf(position).place; }
  /// Why the file of `position` cannot be read; Ok if it can.
  Status CheckFileOf(Lsn position);
  /// kCorrupt when a file at or after `position` is missing while a later one exists; `*missing` is
  /// then its path.
  Status FindGap(Lsn position, std::string* missing) const;

 private:
  struct Part {
    LogFilePlace place;
    Status status;  // of its file
  };
  [[nodiscard]] Part PartOf(Lsn position) const;
  /// False: the file does not continue where its predecessor ends.
  bool AddGood(const ListedLogFile& file, const std::vector<ListedLogFile>& damaged_before);
  void AddDamagedEnd(const std::vector<ListedLogFile>& damaged);
  Status OpenFileOf(Lsn position);
  Status Fill(Lsn position, size_t size_bytes);
  void Grow(size_t size_bytes);

  FileSystem* const file_system_;
  const std::string folder_;
  const InstanceId instance_id_;
  std::vector<Part> parts_;     // in order, without gaps
  std::unique_ptr<File> file_;  // the one read last
  uint64_t file_number_ = 0;    // of file_
  AlignedBuffer window_;
  Lsn window_start_;         // of the window's first byte
  size_t window_bytes_ = 0;  // valid bytes in it
};

}  // namespace rowan
