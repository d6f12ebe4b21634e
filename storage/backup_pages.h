// SPDX-License-Identifier: GPL-2.0-only
// What a backup holds of one tablespace: a whole file (BackupFile), or the pages changed since an
// earlier backup (BackupDelta). Pages come in ascending order; pages of zeros (never written, or
// given back) take no space. One thread each.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/status.h"
#include "io/file.h"

namespace rowan {

// Bytes of a delta file, little-endian: one header,
//   offset size
//   0      8    magic, its last character is the format version
//   8      4    CRC-32C over the header with this field zero
//   12     4    space id
//   16     4    page size in bytes
//   20     4    number of pages of the tablespace
//   24     16   instance id
//   40     8    since which LSN
// then runs of neighbouring pages, each with
//   offset size
//   0      4    RunKind
//   4      4    number of the first page
//   8      4    number of pages
//   12     4    CRC-32C over the 12 bytes before
//   16     -    the pages, unless they are zero
namespace backup_delta_layout {
inline constexpr char kMagic[] = "RWDELTA1";
inline constexpr size_t kMagicBytes = 8;
inline constexpr size_t kCrcOffset = 8;        // u32, over the header with this field zero
inline constexpr size_t kSpaceOffset = 12;     // u32
inline constexpr size_t kPageSizeOffset = 16;  // u32
inline constexpr size_t kPagesOffset = 20;     // u32, of the tablespace
inline constexpr size_t kInstanceOffset = 24;  // 16 bytes
inline constexpr size_t kSinceOffset = 40;     // u64
inline constexpr size_t kHeaderBytes = 48;
// A run: its header and, if they are not zero, its pages.
inline constexpr size_t kRunKindOffset = 0;   // u32: RunKind
inline constexpr size_t kRunFirstOffset = 4;  // u32, page number
inline constexpr size_t kRunCountOffset = 8;  // u32
inline constexpr size_t kRunCrcOffset = 12;   // u32, over the 12 bytes before
inline constexpr size_t kRunBytes = 16;
enum class RunKind : uint32_t { kEnd = 0, kPages = 1, kZeros = 2 };
static_assert(kSinceOffset + 8 == kHeaderBytes && kInstanceOffset + 16 == kSinceOffset);
static_assert(kMagicBytes == kCrcOffset && kSpaceOffset == kCrcOffset + 4);
static_assert(kRunCrcOffset + 4 == kRunBytes);
}  // namespace backup_delta_layout

class BackupPages {
 public:
  struct Space {
    FileSystem* file_system = nullptr;
    std::string folder;  ///< of the backup
    InstanceId instance_id{};
    SpaceId space;
    uint32_t page_size_bytes = 0;
    uint32_t pages = 0;  ///< of the tablespace
    Lsn since;           ///< pages of smaller LSNs are in an earlier backup
  };
  virtual ~BackupPages() = default;
  BackupPages(const BackupPages&) = delete;
  BackupPages& operator=(const BackupPages&) = delete;

  /// Neighbouring pages, after all those added so far; an image of zeros stands for a page that was
  /// never written.
  virtual Status Add(PageNumber first, Bytes images) = 0;
  /// Makes it durable.
  virtual Status Finish() = 0;
  /// The name of the file that was written.
  [[nodiscard]] const std::string& name() const { return name_; }

 protected:
  explicit BackupPages(std::string name) : name_(std::move(name)) {}

 private:
  const std::string name_;
};

/// All pages, in a file like the tablespace's own.
Result<std::unique_ptr<BackupPages>> MakeBackupFile(const BackupPages::Space& space);
[[nodiscard]] std::string BackupDeltaName(SpaceId space);
/// The changed pages, in a delta file.
Result<std::unique_ptr<BackupPages>> MakeBackupDelta(const BackupPages::Space& space);

}  // namespace rowan
