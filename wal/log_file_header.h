// SPDX-License-Identifier: GPL-2.0-only
// Name and first block of a redo log file. The file `redo_<number>` is a 4 KiB header block, which
// is not part of the stream, followed by a part of the stream. The header says where that part
// begins and how long it is, so the files of one log may have different sizes.
//
//   offset size
//   0      8    magic "ROWANLOG"
//   8      4    format version
//   12     4    CRC-32C over the block with this field zero
//   16     16   instance id
//   32     8    file number
//   40     8    file bytes: bytes of the stream in this file
//   48     8    LSN of the first byte; since version 2, before it was number x file bytes
//   56     24   feature masks (base/format_features.h); since version 2
//   80     ...  zero
//
// The header is written and synced before the file gets its name. Thread safety: plain functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/format_features.h"
#include "base/ids.h"
#include "base/status.h"
#include "io/file.h"

namespace rowan {

inline constexpr size_t kLogFileHeaderBytes = 4096;
/// Version this build writes. It reads all earlier ones.
inline constexpr uint32_t kLogFileVersion = 2;
/// Features of log files that this build knows.
inline constexpr FormatFeatures kLogFileFeatures{};

struct LogFileHeader {
  InstanceId instance_id{};
  uint64_t number = 0;
  uint64_t file_bytes = 0;
  Lsn start;  ///< of the first byte

  [[nodiscard]] Lsn end() const { return start + file_bytes; }
  bool operator==(const LogFileHeader&) const = default;
};

[[nodiscard]] std::string LogFileName(uint64_t number);
/// nullopt when `name` is not that of a log file.
[[nodiscard]] std::optional<uint64_t> ParseLogFileName(const std::string& name);

Status WriteLogFileHeader(File* file, const LogFileHeader& header);
/// The header of file `number` of an instance. kCorrupt: it is not that file, or cannot be used;
/// kNewerFormat (logged): a newer build wrote it.
Result<LogFileHeader> ReadLogFileHeader(File* file, const InstanceId& instance_id, uint64_t number);

}  // namespace rowan
