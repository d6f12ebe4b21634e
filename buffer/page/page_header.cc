// SPDX-License-Identifier: GPL-2.0-only
// The common page header: initialising, sealing and verifying page images. See page_header.h.
#include "buffer/page/page_header.h"

#include <algorithm>

#include "base/assertions.h"
#include "base/crc32c.h"

namespace rowan {
namespace {

constexpr size_t kChecksumOffset = 0;
constexpr size_t kTypeOffset = 4;
constexpr size_t kPageVersionOffset = 5;
constexpr size_t kPageSpaceOffset = 16;
constexpr size_t kPageOffset = 20;
constexpr size_t kIndexOffset = 24;
static_assert(kIndexOffset + sizeof(uint64_t) == kPageHeaderBytes);

uint32_t ChecksumOf(Bytes page) { return Crc32c(page.subspan(kTypeOffset)); }

}  // namespace

void InitPageHeader(MutableBytes page, PageId id, PageType type, uint8_t version, IndexId index) {
  ROWAN_DCHECK(page.size() >= kPageHeaderBytes && type <= PageType::kPacked);
  std::fill(page.begin(), page.end(), std::byte{0});
  page[kTypeOffset] = static_cast<std::byte>(type);
  page[kPageVersionOffset] = static_cast<std::byte>(version);
  StoreLe<uint32_t>(page.data() + kPageSpaceOffset, id.space.value());
  StoreLe<uint32_t>(page.data() + kPageOffset, id.page.value());
  StoreLe<uint64_t>(page.data() + kIndexOffset, index.value());
}

void SealPage(MutableBytes page) {
  StoreLe<uint32_t>(page.data() + kChecksumOffset, ChecksumOf(page));
}

PageVerdict VerifyPage(Bytes page, PageId id) {
  ROWAN_DCHECK(page.size() >= kPageHeaderBytes);
  if (LoadLe<uint32_t>(page.data() + kChecksumOffset) == ChecksumOf(page)) {
    return PageIdOf(page.data()) == id ? PageVerdict::kGood : PageVerdict::kWrongIdentity;
  }
  return IsAllZero(page) ? PageVerdict::kAllZero : PageVerdict::kBadChecksum;
}

const char* PageVerdictText(PageVerdict verdict) {
  switch (verdict) {
    case PageVerdict::kGood: return "good";
    case PageVerdict::kAllZero: return "all bytes are zero";
    case PageVerdict::kBadChecksum: return "wrong checksum";
    case PageVerdict::kWrongIdentity: return "it carries the identity of another page";
  }
  return "unknown";
}

}  // namespace rowan
