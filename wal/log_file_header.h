// SPDX-License-Identifier: GPL-2.0-only
// Name and first block of a redo log file. The file `redo_<number>` is one 4 KiB header block and
// then the bytes [number x file bytes, (number + 1) x file bytes) of the stream; the header is not
// part of the stream, so file offset = 4096 + LSN modulo file bytes.
//
//   offset size
//   0      8    magic "ROWANLOG"
//   8      4    format version
//   12     4    CRC-32C over the block with this field zero
//   16     16   instance id
//   32     8    file number
//   40     8    file bytes: bytes of the stream in one file
//   48     ...  zero
//
// The header is written and synced before the file gets its name. Thread safety: plain functions.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/status.h"
#include "io/file.h"

namespace rowan {

inline constexpr size_t kLogFileHeaderBytes = 4096;

struct LogFileHeader {
  std::array<uint8_t, 16> instance_id{};
  uint64_t number = 0;
  uint64_t file_bytes = 0;

  bool operator==(const LogFileHeader&) const = default;
};

[[nodiscard]] std::string LogFileName(uint64_t number);
/// Nothing when `name` is not that of a log file.
[[nodiscard]] std::optional<uint64_t> ParseLogFileName(const std::string& name);

Status WriteLogFileHeader(File* file, const LogFileHeader& header);
/// Ok if the file is as long as it must be and starts with exactly `expected`; kCorrupt otherwise,
/// kNewerFormat for a file of a newer build.
Status CheckLogFileHeader(File* file, const LogFileHeader& expected);

}  // namespace rowan
