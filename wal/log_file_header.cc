// SPDX-License-Identifier: GPL-2.0-only
#include "wal/log_file_header.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "base/crc32c.h"
#include "base/format.h"
#include "base/logging.h"
#include "io/aligned_buffer.h"

namespace rowan {
namespace {

constexpr std::string_view kLogFileMagic = "ROWANLOG";
constexpr std::string_view kPrefix = "redo_";
constexpr size_t kDigits = 10;
/// More than any log ever gets.
constexpr Lsn kStartMax{uint64_t{1} << 62};

/// The block as it lies on disk; little-endian, the rest is zero.
struct HeaderLayout {
  char magic[8];
  uint32_t format_version;
  uint32_t crc;  ///< CRC-32C of the whole block with this field zero
  uint8_t instance_id[16];
  uint64_t number;
  uint64_t file_bytes;
  uint64_t start;
  uint8_t features[kFormatFeaturesBytes];
};
static_assert(sizeof(HeaderLayout) == 80);
static_assert(offsetof(HeaderLayout, crc) == 12);
static_assert(offsetof(HeaderLayout, instance_id) == 16);
static_assert(offsetof(HeaderLayout, number) == 32);
static_assert(offsetof(HeaderLayout, file_bytes) == 40);
static_assert(offsetof(HeaderLayout, start) == 48);
static_assert(offsetof(HeaderLayout, features) == 56);

constexpr size_t kHeaderCrcAt = offsetof(HeaderLayout, crc);

uint32_t TakeCrc(MutableBytes block) {
  const auto stored = LoadLe<uint32_t>(block.data() + kHeaderCrcAt);
  StoreLe<uint32_t>(block.data() + kHeaderCrcAt, 0);
  return stored;
}

}  // namespace

std::string LogFileName(uint64_t number) { return Format("{}{:0{}}", kPrefix, number, kDigits); }

std::optional<uint64_t> ParseLogFileName(const std::string& name) {
  if (!name.starts_with(kPrefix) || name.size() < kPrefix.size() + kDigits) return std::nullopt;
  uint64_t number = 0;
  const char* end = name.data() + name.size();
  const auto [stopped, error] = std::from_chars(name.data() + kPrefix.size(), end, number);
  if (error != std::errc() || stopped != end) return std::nullopt;
  return number;
}

Status WriteLogFileHeader(File* file, const LogFileHeader& header) {
  HeaderLayout layout{};
  std::memcpy(layout.magic, kLogFileMagic.data(), kLogFileMagic.size());
  layout.format_version = kLogFileVersion;
  std::copy(header.instance_id.begin(), header.instance_id.end(), layout.instance_id);
  layout.number = header.number;
  layout.file_bytes = header.file_bytes;
  layout.start = header.start.value();
  AlignedBuffer block(kLogFileHeaderBytes);
  StoreLe(block.data(), layout);
  StoreLe<uint32_t>(block.data() + kHeaderCrcAt, Crc32c(block.span()));
  return file->Write(WriteCause::kRedoFiles, 0, block.span());
}

namespace {

/// What can be said of a block whose checksum is right.
Status CheckVersion(const HeaderLayout& layout, const std::string& path) {
  if (layout.format_version > kLogFileVersion) {
    LogError(
        "Redo log file '{}' has format version {}, this build knows versions up to {}: a "
        "newer version of Rowan wrote it.",
        path, layout.format_version, kLogFileVersion);
    return Status(Code::kNewerFormat, "log file of a newer version of Rowan");
  }
  const auto* features = reinterpret_cast<const std::byte*>(layout.features);
  return CheckFeatures(LoadFeatures(features), kLogFileFeatures, path);
}

LogFileHeader Decode(const HeaderLayout& layout) {
  LogFileHeader header;
  std::copy(std::begin(layout.instance_id), std::end(layout.instance_id),
            header.instance_id.begin());
  header.number = layout.number;
  header.file_bytes = layout.file_bytes;
  header.start = Lsn(layout.format_version == 1 ? layout.number * layout.file_bytes : layout.start);
  return header;
}

}  // namespace

Result<LogFileHeader> ReadLogFileHeader(File* file, const InstanceId& instance_id,
                                        uint64_t number) {
  const Result<uint64_t> size = file->Size();
  if (!size.ok()) return size.status();
  if (size.value() < kLogFileHeaderBytes) return Status(Code::kCorrupt, "log file is too short");
  AlignedBuffer block(kLogFileHeaderBytes);
  Status status = file->Read(0, block.span());
  if (!status.ok()) return status;
  if (std::memcmp(block.data(), kLogFileMagic.data(), kLogFileMagic.size()) != 0) {
    return Status(Code::kCorrupt, "not a Rowan log file");
  }
  const uint32_t stored = TakeCrc(block.span());
  if (Crc32c(block.span()) != stored) {
    return Status(Code::kCorrupt, "log file header has a wrong checksum");
  }
  const auto layout = LoadLe<HeaderLayout>(block.data());
  status = CheckVersion(layout, file->path());
  if (!status.ok()) return status;
  const LogFileHeader header = Decode(layout);
  const bool sound = header.file_bytes != 0 && header.file_bytes % kLogFileHeaderBytes == 0 &&
                     header.start.value() % kLogFileHeaderBytes == 0 && header.start <= kStartMax;
  if (header.instance_id != instance_id || header.number != number || !sound) {
    return Status(Code::kCorrupt, "log file of another instance or place");
  }
  if (size.value() - kLogFileHeaderBytes < header.file_bytes) {
    return Status(Code::kCorrupt, "log file is too short");
  }
  return header;
}

}  // namespace rowan
