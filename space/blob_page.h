// SPDX-License-Identifier: GPL-2.0-only
// A page of an off-page value, after the 32-byte page header:
//   offset size
//   32     4    next page of the chain, 0 = last
//   36     4    birth: equal in all pages of a blob and in its BlobRef
//   40     4    position of the page in the chain: 0 = first
//   44     4    bytes of the value in this page
//   48     4    size of the whole value
//   52     12   zero
//   64     ..   the bytes
//
// Record kBlobPage: birth, position, bytes here, whole size (u32 each), then the bytes; it
// initialises the page with next = 0. A new page is linked by overwriting `next` in its predecessor
// (kPageBytes). Thread safety: the page is latched by the caller.
#pragma once

#include <cstdint>
#include <cstring>

#include "base/bytes.h"
#include "base/ids.h"
#include "buffer/page/page_header.h"

namespace rowan {

namespace blob_layout {
inline constexpr uint8_t kVersion = 1;
inline constexpr size_t kNext = 32;
inline constexpr size_t kBirth = 36;
inline constexpr size_t kPosition = 40;
inline constexpr size_t kBytesHere = 44;
inline constexpr size_t kWholeSize = 48;
inline constexpr size_t kData = 64;
inline constexpr size_t kRecordHeader = 16;
static_assert(kNext == kPageHeaderBytes);
static_assert(kWholeSize - kBirth + 4 == kRecordHeader, "the record holds them as one run");
}  // namespace blob_layout

[[nodiscard]] constexpr size_t BlobPageCapacity(size_t page_size_bytes) {
  return page_size_bytes - blob_layout::kData;
}

/// Fills `page` from the record body. False if the body is malformed.
inline bool LoadBlobPageRecord(MutableBytes page, PageId id, Bytes body) {
  using namespace blob_layout;  // NOLINT: offsets of this format
  if (body.size() < kRecordHeader) return false;
  const Bytes data = body.subspan(kRecordHeader);
  if (data.size() > BlobPageCapacity(page.size())) return false;
  InitPageHeader(page, id, PageType::kBlob, kVersion, IndexId(0));
  std::memcpy(page.data() + kBirth, body.data(), kRecordHeader);
  if (!data.empty()) std::memcpy(page.data() + kData, data.data(), data.size());
  return LoadLe<uint32_t>(page.data() + kBytesHere) == data.size();
}

/// Read access to a latched blob page.
class BlobPageView {
 public:
  explicit BlobPageView(Bytes page) : page_(page) {}
  [[nodiscard]] bool Is(uint32_t birth, uint32_t position) const {
    return PageTypeOf(page_.data()) == PageType::kBlob && U32(blob_layout::kBirth) == birth &&
           U32(blob_layout::kPosition) == position &&
           U32(blob_layout::kBytesHere) <= BlobPageCapacity(page_.size());
  }
  /// At any position.
  [[nodiscard]] bool IsPartOf(uint32_t birth) const {
    return Is(birth, U32(blob_layout::kPosition));
  }
  [[nodiscard]] PageNumber next() const { return PageNumber(U32(blob_layout::kNext)); }
  [[nodiscard]] uint32_t whole_size() const { return U32(blob_layout::kWholeSize); }
  [[nodiscard]] Bytes data() const {
    return page_.subspan(blob_layout::kData, U32(blob_layout::kBytesHere));
  }

 private:
  [[nodiscard]] uint32_t U32(size_t offset) const {
    return LoadLe<uint32_t>(page_.data() + offset);
  }
  Bytes page_;
};

}  // namespace rowan
