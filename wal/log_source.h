// SPDX-License-Identifier: GPL-2.0-only
// LogSource: the log's bytes by LSN, read through a window that slides over the files. What is not
// there (a file missing, cut short, or not of this log) ends what can be read. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/bytes.h"
#include "base/status.h"
#include "io/aligned_buffer.h"
#include "io/file.h"
#include "wal/control_file.h"
#include "wal/log_file_header.h"

namespace rowan {

class LogSource {
 public:
  LogSource(FileSystem* file_system, std::string folder, const ControlData& control);

  /// Makes at least `*size_bytes` bytes from `position` on visible; fewer (`*size_bytes` is then
  /// lowered) when the log's files end before. The view may hold more. Valid until the next call.
  Status View(uint64_t position, size_t* size_bytes, Bytes* view);

  [[nodiscard]] std::string PathOf(uint64_t position) const;
  [[nodiscard]] uint64_t OffsetOf(uint64_t position) const {
    return kLogFileHeaderBytes + position % file_bytes_;
  }
  [[nodiscard]] uint64_t file_bytes() const { return file_bytes_; }
  /// Why the file of `position` cannot be read; Ok if it can.
  Status CheckFileOf(uint64_t position);
  /// kCorrupt when a file is missing at or behind `position` while a later one is there; `*missing`
  /// is then a position in it.
  Status FindGap(uint64_t position, uint64_t* missing);

 private:
  Status OpenFile(uint64_t number);
  Status Fill(uint64_t position, size_t size_bytes);
  void Grow(size_t size_bytes);

  FileSystem* const file_system_;
  const std::string folder_;
  const std::array<uint8_t, 16> instance_id_;
  const uint64_t file_bytes_;
  std::unique_ptr<File> file_;   // the one read last
  uint64_t file_number_ = 0;     // of file_
  uint64_t unusable_number_ = UINT64_MAX;  // of the file behind the last one
  Status unusable_status_;
  AlignedBuffer window_;
  uint64_t window_start_ = 0;    // stream position of the window's first byte
  size_t window_bytes_ = 0;      // valid bytes in it
};

}  // namespace rowan
