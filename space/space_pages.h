// SPDX-License-Identifier: GPL-2.0-only
// The two page types that describe a tablespace, and pure functions over them.
//
// Space header, page 0, after the 32-byte page header:
//   offset size
//   32     8    magic
//   40     16   instance id: the instance that made the file
//   56     4    page size in bytes
//   60     4    bitmap pages initialised
//   64     8    counter (AUTO_INCREMENT high-water mark)
//   72     24   feature masks (base/format_features.h)
//   96     1    compression algorithm of packed pages (buffer/page/page_header.h), 0 none
//   97     1    encryption algorithm, 0 none
//   98     2    zero
//   100    4    encryption key id of pages written from now on
//   104    152  room for a wrapped key
// Fields from 72 on exist since version 2 of the header and were zero before; all but the masks are
// still zero.
//
// Bitmap page of group g, at page g x GroupPages + 1: a bit per page of the group, from offset 64,
// set = in use. Bit i is bit (i mod 8) of byte i / 8.
//   offset size
//   32     4    group
//   36     28   zero
//   64     ...  bits
// Thread safety: the pages are latched by the caller.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/format_features.h"
#include "base/ids.h"
#include "buffer/page/page_header.h"

namespace rowan {

namespace space_layout {
inline constexpr uint8_t kHeaderVersion = 2;
inline constexpr uint8_t kBitmapVersion = 1;
inline constexpr uint64_t kMagic = 0x3130454341505352;  // "RSPACE01"
inline constexpr size_t kMagicOffset = 32;
inline constexpr size_t kInstanceOffset = 40;
inline constexpr size_t kPageSizeOffset = 56;
inline constexpr size_t kBitmapPagesOffset = 60;
inline constexpr size_t kCounterOffset = 64;
inline constexpr size_t kFeaturesOffset = 72;
inline constexpr size_t kCompressionOffset = 96;
inline constexpr size_t kEncryptionOffset = 97;
inline constexpr size_t kKeyIdOffset = 100;
inline constexpr size_t kWrappedKeyOffset = 104;
inline constexpr size_t kHeaderEnd = 256;
inline constexpr size_t kGroupOffset = 32;
inline constexpr size_t kBitsOffset = 64;
static_assert(kMagicOffset == kPageHeaderBytes);
static_assert(kInstanceOffset + sizeof(InstanceId) == kPageSizeOffset);
static_assert(kCounterOffset % 8 == 0 && kBitsOffset % 8 == 0);
static_assert(kFeaturesOffset == kCounterOffset + 8);
static_assert(kCompressionOffset == kFeaturesOffset + kFormatFeaturesBytes);
static_assert(kEncryptionOffset == kCompressionOffset + 1);
static_assert(kKeyIdOffset % 4 == 0 && kWrappedKeyOffset == kKeyIdOffset + 4);
static_assert(kHeaderEnd <= kPageSizeMin);
}  // namespace space_layout

/// Pages that one bitmap page describes.
[[nodiscard]] constexpr uint32_t GroupPages(size_t page_size_bytes) {
  return static_cast<uint32_t>((page_size_bytes - space_layout::kBitsOffset) * 8);
}
[[nodiscard]] constexpr PageNumber BitmapPage(uint32_t group, size_t page_size_bytes) {
  return PageNumber(group * GroupPages(page_size_bytes) + 1);
}
/// Pages in 1 MiB, the unit that trees take when they grow.
[[nodiscard]] constexpr uint32_t ExtentPages(size_t page_size_bytes) {
  return static_cast<uint32_t>((size_t{1} << 20) / page_size_bytes);
}
static_assert(GroupPages(kPageSizeMin) % ExtentPages(kPageSizeMin) == 0);
static_assert(GroupPages(16384) % ExtentPages(16384) == 0);
static_assert(GroupPages(kPageSizeMax) % ExtentPages(kPageSizeMax) == 0);

/// Most pages of a space: page numbers have 32 bits, and a bitmap page begins a whole group.
[[nodiscard]] constexpr uint32_t SpacePagesMax(size_t page_size_bytes) {
  return UINT32_MAX / GroupPages(page_size_bytes) * GroupPages(page_size_bytes);
}

struct SpaceSize {
  uint32_t file_pages = 0;
  uint32_t groups = 0;  ///< of GroupPages, each with its bitmap page
};
/// How far the file of a full space grows to provide `pages` more; `groups` is one more when the
/// new pages begin a group. nullopt: it would have more than `pages_max` pages.
[[nodiscard]] std::optional<SpaceSize> PlanGrowth(const SpaceSize& now, uint32_t pages,
                                                  uint32_t page_size_bytes, uint32_t pages_max);

void InitSpaceHeader(MutableBytes page, PageId id, const InstanceId& instance);
/// Sets the bits of the bitmap page itself and, in group 0, of the space header.
void InitBitmap(MutableBytes page, PageId id, uint32_t group);

[[nodiscard]] bool BitmapTest(Bytes page, uint32_t bit);
void BitmapSet(MutableBytes page, uint32_t bit, bool value);
/// Number of set bits among the first `limit`.
[[nodiscard]] uint32_t BitmapCount(Bytes page, uint32_t limit);
/// Appends all bits, 64 to a word, lowest first.
void BitmapAppend(Bytes page, std::vector<uint64_t>* words);
/// Index of the last set bit plus one; 0 if none.
[[nodiscard]] uint32_t BitmapEnd(Bytes page);
/// First clear bit in [first, last).
[[nodiscard]] std::optional<uint32_t> FirstClear(Bytes page, uint32_t first, uint32_t last);
/// First bit of a wholly clear extent in [first, last); `first` is rounded up.
[[nodiscard]] std::optional<uint32_t> FirstClearExtent(Bytes page, uint32_t first, uint32_t last);

}  // namespace rowan
