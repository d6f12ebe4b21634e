// SPDX-License-Identifier: GPL-2.0-only
#include "wal/log_file_header.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string_view>

#include "base/crc32c.h"
#include "base/format.h"
#include "io/aligned_buffer.h"
#include "wal/control_file.h"

namespace rowan {
namespace {

constexpr std::string_view kMagic = "ROWANLOG";
constexpr std::string_view kPrefix = "redo_";
constexpr size_t kDigits = 10;

// Where the fields are.
constexpr size_t kVersionAt = 8;
constexpr size_t kCrcAt = 12;
constexpr size_t kInstanceAt = 16;
constexpr size_t kNumberAt = 32;
constexpr size_t kFileBytesAt = 40;
static_assert(kInstanceAt + sizeof(LogFileHeader::instance_id) == kNumberAt);

uint32_t TakeCrc(MutableBytes block) {
  const auto stored = LoadLe<uint32_t>(block.data() + kCrcAt);
  StoreLe<uint32_t>(block.data() + kCrcAt, 0);
  return stored;
}

}  // namespace

std::string LogFileName(uint64_t number) {
  return Format("{}{:0{}}", kPrefix, number, kDigits);
}

std::optional<uint64_t> ParseLogFileName(const std::string& name) {
  if (!name.starts_with(kPrefix) || name.size() < kPrefix.size() + kDigits) return std::nullopt;
  uint64_t number = 0;
  const char* end = name.data() + name.size();
  const auto [stopped, error] = std::from_chars(name.data() + kPrefix.size(), end, number);
  if (error != std::errc() || stopped != end) return std::nullopt;
  return number;
}

Status WriteLogFileHeader(File* file, const LogFileHeader& header) {
  AlignedBuffer block(kLogFileHeaderBytes);
  std::memcpy(block.data(), kMagic.data(), kMagic.size());
  StoreLe<uint32_t>(block.data() + kVersionAt, kFormatVersion);
  std::memcpy(block.data() + kInstanceAt, header.instance_id.data(), header.instance_id.size());
  StoreLe<uint64_t>(block.data() + kNumberAt, header.number);
  StoreLe<uint64_t>(block.data() + kFileBytesAt, header.file_bytes);
  StoreLe<uint32_t>(block.data() + kCrcAt, Crc32c(block.span()));
  return file->Write(0, block.span());
}

Status CheckLogFileHeader(File* file, const LogFileHeader& expected) {
  const Result<uint64_t> size = file->Size();
  if (!size.ok()) return size.status();
  if (size.value() < kLogFileHeaderBytes + expected.file_bytes) {
    return Status(Code::kCorrupt, "log file is too short");
  }
  AlignedBuffer block(kLogFileHeaderBytes);
  const Status status = file->Read(0, block.span());
  if (!status.ok()) return status;
  if (std::memcmp(block.data(), kMagic.data(), kMagic.size()) != 0) {
    return Status(Code::kCorrupt, "not a Rowan log file");
  }
  const uint32_t stored = TakeCrc(block.span());
  if (Crc32c(block.span()) != stored) {
    return Status(Code::kCorrupt, "log file header has a wrong checksum");
  }
  if (LoadLe<uint32_t>(block.data() + kVersionAt) > kFormatVersion) {
    return Status(Code::kNewerFormat, "log file of a newer version of Rowan");
  }
  LogFileHeader found;
  std::memcpy(found.instance_id.data(), block.data() + kInstanceAt, found.instance_id.size());
  found.number = LoadLe<uint64_t>(block.data() + kNumberAt);
  found.file_bytes = LoadLe<uint64_t>(block.data() + kFileBytesAt);
  if (found == expected) return Status::Ok();
  return Status(Code::kCorrupt, "log file of another instance or place");
}

}  // namespace rowan
