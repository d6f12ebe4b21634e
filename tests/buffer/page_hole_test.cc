// SPDX-License-Identifier: GPL-2.0-only
// The hole of a page is zero, long runs are found, and packing loses nothing.
#include "buffer/page/page_hole.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/random.h"
#include "tests/support/test_settings.h"

namespace rowan {
namespace {

std::vector<std::byte> NoiseWithoutZeros(size_t bytes, Random* random) {
  std::vector<std::byte> page(bytes);
  for (std::byte& byte : page) byte = static_cast<std::byte>(random->Between(1, 255));
  return page;
}

void ExpectRoundTrip(const std::vector<std::byte>& page, PageHole hole) {
  ASSERT_EQ(hole.begin % PageHole::kUnitBytes, 0u);
  ASSERT_EQ(hole.bytes % PageHole::kUnitBytes, 0u);
  std::vector<std::byte> packed(page.size() + 1, std::byte{0xEE});
  const std::byte* end = PackImage(page, hole, packed.data());
  const auto packed_bytes = static_cast<size_t>(end - packed.data());
  ASSERT_EQ(packed_bytes, page.size() - hole.bytes);
  EXPECT_EQ(packed[packed_bytes], std::byte{0xEE}) << "nothing behind the end is touched";
  std::vector<std::byte> back(page.size(), std::byte{0xEE});
  UnpackImage(Bytes(packed).first(packed_bytes), hole, back);
  EXPECT_EQ(back, page);
}

TEST(PageHole, EveryLongRunIsFoundWhereverItIs) {
  Random random(TestSeed());
  const size_t size = TestPageSizeBytes();
  for (int round = 0; round < 500; ++round) {
    std::vector<std::byte> page = NoiseWithoutZeros(size, &random);
    size_t longest = 0;
    size_t at = random.Between(0, size - 1);
    for (int run = 0; run < 3 && at < size; ++run) {
      const size_t length = std::min<size_t>(random.Between(1, size / 2), size - at);
      std::fill_n(page.begin() + static_cast<ptrdiff_t>(at), length, std::byte{0});
      longest = std::max(longest, length);
      at += length + random.Between(1, 200);
    }
    const PageHole hole = FindHole(page);
    ExpectRoundTrip(page, hole);
    // Both ends of the run are lost to the unit they are in.
    if (longest >= PageHole::kSureBytes) {
      EXPECT_GE(hole.bytes + 2 * PageHole::kUnitBytes, longest) << "round " << round;
    }
  }
}

TEST(PageHole, FullAndEmptyPages) {
  Random random(TestSeed());
  const std::vector<std::byte> full = NoiseWithoutZeros(TestPageSizeBytes(), &random);
  EXPECT_EQ(FindHole(full).bytes, 0u);
  ExpectRoundTrip(full, FindHole(full));
  const std::vector<std::byte> empty(TestPageSizeBytes());
  EXPECT_EQ(FindHole(empty).bytes, TestPageSizeBytes());
  ExpectRoundTrip(empty, FindHole(empty));
}

TEST(PageHole, OneByteEndsIt) {
  std::vector<std::byte> page(TestPageSizeBytes());
  page[1000] = std::byte{1};
  const PageHole hole = FindHole(page);
  EXPECT_EQ(hole.begin, 1024u);
  EXPECT_EQ(hole.begin + hole.bytes, TestPageSizeBytes());
}

}  // namespace
}  // namespace rowan
