// SPDX-License-Identifier: GPL-2.0-only
// The header every page starts with, 32 bytes, little-endian:
//
//   offset size
//   0      4    CRC-32C over bytes [4, page size)
//   4      1    page type
//   5      1    format version of the type
//   6      2    flags, owned by the type
//   8      8    page LSN: end of the last log group that changed the page
//   16     4    space id      } identity: catches misdirected writes and reads
//   20     4    page number   }
//   24     8    index id (0 where there is none)
//
// A packed page, i.e. compressed or encrypted on disk, has other fields at 6 and from 24 on; in
// memory and in the log it appears unpacked. None is written yet.
//
// Checksum and identity are set when the image is copied out for writing and verified on each read.
#pragma once

#include "base/bytes.h"
#include "base/ids.h"
#include "base/page_size.h"
#include "base/status.h"

namespace rowan {

inline constexpr size_t kPageHeaderBytes = 32;

enum class PageType : uint8_t {
  kFree = 0,
  kSpaceHeader = 1,
  kSpaceBitmap = 2,
  kTreeNode = 3,
  kUndo = 4,
  kUndoDirectory = 5,
  kBlob = 6,
  kPacked = 7,
};

/// Where a packed page says how to unpack it. Checksum, type, version, page LSN and identity are
/// where every page has them, so a torn, stale or misdirected page is detected without its key.
///   offset size
///   0      4    checksum
///   4      1    type
///   5      1    version of this header
///   6      1    compression algorithm
///   7      1    encryption algorithm
///   8      8    page LSN
///   16     8    space id and page number
///   24     4    encryption key id
///   28     4    bytes stored, header included
///   32     ...  the page inside: type, version, flags, index id; then the rest
namespace packed_page_layout {
inline constexpr size_t kCompressionOffset = 6;   // u8, algorithm
inline constexpr size_t kEncryptionOffset = 7;    // u8, algorithm
inline constexpr size_t kKeyIdOffset = 24;        // u32
inline constexpr size_t kStoredBytesOffset = 28;  // u32, header included
inline constexpr size_t kContentOffset = 32;      // type, version, flags, index id; then the rest
static_assert(kEncryptionOffset == kCompressionOffset + 1 && kKeyIdOffset % 4 == 0);
static_assert(kStoredBytesOffset == kKeyIdOffset + 4);
static_assert(kContentOffset == kStoredBytesOffset + 4 && kContentOffset == kPageHeaderBytes);
}  // namespace packed_page_layout

inline PageType PageTypeOf(const std::byte* page) { return static_cast<PageType>(page[4]); }
inline uint8_t PageVersionOf(const std::byte* page) { return static_cast<uint8_t>(page[5]); }
/// For changing a page of an older format into the current one.
inline void SetPageVersion(std::byte* page, uint8_t version) {
  page[5] = static_cast<std::byte>(version);
}
inline uint16_t PageFlagsOf(const std::byte* page) { return LoadLe<uint16_t>(page + 6); }
inline void SetPageFlags(std::byte* page, uint16_t flags) { StoreLe<uint16_t>(page + 6, flags); }
inline Lsn PageLsnOf(const std::byte* page) { return Lsn(LoadLe<uint64_t>(page + 8)); }
inline void SetPageLsn(std::byte* page, Lsn lsn) { StoreLe<uint64_t>(page + 8, lsn.value()); }
inline PageId PageIdOf(const std::byte* page) {
  return {SpaceId(LoadLe<uint32_t>(page + 16)), PageNumber(LoadLe<uint32_t>(page + 20))};
}
inline IndexId PageIndexOf(const std::byte* page) { return IndexId(LoadLe<uint64_t>(page + 24)); }

/// Zeroes the page and writes type, version, identity and index; LSN and checksum stay zero.
void InitPageHeader(MutableBytes page, PageId id, PageType type, uint8_t version, IndexId index);

/// Sets the checksum of a finished image.
void SealPage(MutableBytes page);

enum class PageVerdict { kGood, kAllZero, kBadChecksum, kWrongIdentity };
/// Checks an image read from disk.
PageVerdict VerifyPage(Bytes page, PageId id);
const char* PageVerdictText(PageVerdict verdict);

}  // namespace rowan
