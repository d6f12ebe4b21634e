// SPDX-License-Identifier: GPL-2.0-only
// The page header: what is good, what is not, and why.
#include "buffer/page/page_header.h"

#include <gtest/gtest.h>

#include <vector>

namespace rowan::page_header_test {
namespace {

constexpr PageId kId{SpaceId(16), PageNumber(7)};

std::vector<std::byte> MakePage() {
  std::vector<std::byte> page(4096, std::byte{0xEE});
  InitPageHeader(page, kId, PageType::kTreeNode, 3, IndexId(0x1122334455667788));
  page[100] = std::byte{1};
  SealPage(page);
  return page;
}

TEST(PageHeader, FieldsReadBack) {
  std::vector<std::byte> page = MakePage();
  EXPECT_EQ(PageTypeOf(page.data()), PageType::kTreeNode);
  EXPECT_EQ(PageVersionOf(page.data()), 3);
  EXPECT_EQ(PageIdOf(page.data()), kId);
  EXPECT_EQ(PageIndexOf(page.data()), IndexId(0x1122334455667788));
  EXPECT_EQ(PageLsnOf(page.data()), kNoLsn);
  SetPageLsn(page.data(), Lsn(99));
  SetPageFlags(page.data(), 0xABCD);
  EXPECT_EQ(PageLsnOf(page.data()), Lsn(99));
  EXPECT_EQ(PageFlagsOf(page.data()), 0xABCD);
  EXPECT_EQ(page[4095], std::byte{0});
}

TEST(PageHeader, VerifyTellsDamageApart) {
  std::vector<std::byte> page = MakePage();
  EXPECT_EQ(VerifyPage(page, kId), PageVerdict::kGood);
  EXPECT_EQ(VerifyPage(page, {kId.space, PageNumber(8)}), PageVerdict::kWrongIdentity);
  EXPECT_EQ(VerifyPage(page, {SpaceId(17), kId.page}), PageVerdict::kWrongIdentity);
  for (size_t offset = 0; offset < page.size(); offset += 37) {
    page[offset] ^= std::byte{0x10};
    EXPECT_EQ(VerifyPage(page, kId), PageVerdict::kBadChecksum) << offset;
    page[offset] ^= std::byte{0x10};
  }
  const std::vector<std::byte> zeros(4096);
  EXPECT_EQ(VerifyPage(zeros, kId), PageVerdict::kAllZero);
}

}  // namespace
}  // namespace rowan::page_header_test
