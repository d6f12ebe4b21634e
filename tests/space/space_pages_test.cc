// SPDX-License-Identifier: GPL-2.0-only
// Bitmap pages beside a vector of bits, their redo records, and how files grow.
#include "space/space_pages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "base/page_size.h"
#include "space/page_allocator.h"
#include "tests/support/changed_bytes.h"
#include "tests/support/test_settings.h"
#include "wal/redo.h"

namespace rowan {
namespace {

constexpr PageId kBitmap{kFirstTableSpace, PageNumber(1)};

class SpacePagesTest : public testing::Test {
 protected:
  SpacePagesTest() { RegisterSpaceRedo(); }
  /// Bits in runs, so that there are free extents too.
  void SetSome() {
    for (int runs = 0; runs < 30; ++runs) {
      const size_t begin = random_.Below(model_.size());
      const size_t end = std::min(model_.size(), begin + random_.Below(3000));
      const bool value = random_.OneIn(2);
      for (size_t bit = begin; bit < end; ++bit) {
        BitmapSet(page_, static_cast<uint32_t>(bit), value);
        model_[bit] = value;
      }
    }
  }
  Status Redo(RecordType type, uint32_t first, uint32_t count) {
    std::byte body[8];
    StoreLe<uint32_t>(body, first);
    StoreLe<uint32_t>(body + 4, count);
    return FindRedo(type)->apply(kBitmap, page_, Bytes(body));
  }
  [[nodiscard]] uint32_t Any() { return static_cast<uint32_t>(random_.Below(model_.size() + 1)); }

  Random random_{TestSeed()};
  std::vector<std::byte> page_ = std::vector<std::byte>(TestPageSizeBytes());
  std::vector<bool> model_ = std::vector<bool>(GroupPages(TestPageSizeBytes()));
};

TEST_F(SpacePagesTest, ABitmapAnswersLikeAVectorOfBits) {
  const uint32_t extent = ExtentPages(page_.size());
  for (int round = 0; round < 10; ++round) {
    ASSERT_NO_FATAL_FAILURE(SetSome());
    const uint32_t limit = Any();
    EXPECT_EQ(BitmapCount(page_, limit), std::count(model_.begin(), model_.begin() + limit, true));
    const auto last = std::find(model_.rbegin(), model_.rend(), true);
    EXPECT_EQ(BitmapEnd(page_), static_cast<uint32_t>(model_.rend() - last));
    std::vector<uint64_t> words;
    BitmapAppend(page_, &words);
    ASSERT_EQ(words.size() * 64, model_.size());
    const uint32_t first = Any();
    std::optional<uint32_t> clear;
    std::optional<uint32_t> clear_extent;
    uint32_t run = 0;
    for (uint32_t bit = 0; bit < model_.size(); ++bit) {
      ASSERT_EQ((words[bit / 64] >> (bit % 64) & 1) != 0, model_[bit]);
      run = model_[bit] ? 0 : run + 1;
      if (bit >= first && bit < limit && !model_[bit] && !clear.has_value()) clear = bit;
      const uint32_t begin = bit + 1 - extent;
      if ((bit + 1) % extent == 0 && run >= extent && begin >= first && bit < limit &&
          !clear_extent.has_value()) {
        clear_extent = begin;
      }
    }
    EXPECT_EQ(FirstClear(page_, first, limit), clear);
    EXPECT_EQ(FirstClearExtent(page_, first, limit), clear_extent);
  }
  EXPECT_FALSE(BitmapTest(page_, static_cast<uint32_t>(model_.size()))) << "beyond the page";
}

TEST_F(SpacePagesTest, RedoOfBitsSetsThoseAndRefusesOthers) {
  InitBitmap(page_, kBitmap, 3);
  model_[1] = true;
  for (int round = 0; round < 200; ++round) {
    const bool value = random_.OneIn(2);
    const uint32_t first = Any();
    const uint32_t count = static_cast<uint32_t>(random_.Below(200));
    const bool fits = first < model_.size() && count <= model_.size() - first;
    const Status status =
        Redo(value ? RecordType::kSpaceSetBits : RecordType::kSpaceClearBits, first, count);
    ASSERT_EQ(status.ok(), fits);
    ASSERT_EQ(status.Is(Code::kCorrupt), !fits);
    for (uint32_t bit = first; fits && bit < first + count; ++bit) model_[bit] = value;
  }
  for (uint32_t bit = 0; bit < model_.size(); ++bit) ASSERT_EQ(BitmapTest(page_, bit), model_[bit]);
  EXPECT_TRUE(Redo(RecordType::kSpaceSetBits, 0, UINT32_MAX).Is(Code::kCorrupt));
  InitSpaceHeader(page_, kBitmap, {});
  EXPECT_TRUE(Redo(RecordType::kSpaceSetBits, 0, 1).Is(Code::kCorrupt)) << "another kind of page";
}

TEST_F(SpacePagesTest, RedoOfAHeaderStaysBehindThePageHeaderAndOnThePage) {
  InitSpaceHeader(page_, {kFirstTableSpace, PageNumber(0)}, {});
  const RedoFunction apply = FindRedo(RecordType::kSpaceHeader)->apply;
  for (int round = 0; round < 300; ++round) {
    std::vector<std::byte> body = RandomBytes(&random_, random_.Below(20));
    const auto offset = static_cast<uint16_t>(random_.OneIn(2) ? random_.Below(40)
                                                               : page_.size() - random_.Below(20));
    if (body.size() >= 2) StoreLe<uint16_t>(body.data(), offset);
    const bool fits =
        body.size() >= 2 && offset >= kPageHeaderBytes && offset + body.size() - 2 <= page_.size();
    std::vector<std::byte> expected = page_;
    if (fits) std::copy(body.begin() + 2, body.end(), expected.begin() + offset);
    ASSERT_EQ(apply({}, page_, body).ok(), fits);
    ASSERT_EQ(page_, expected);
  }
}

TEST_F(SpacePagesTest, AFileGrowsUntilItIsFullAndNeverShrinks) {
  for (const uint32_t page_bytes : {kPageSizeMin, uint32_t{16384}, kPageSizeMax}) {
    const auto pages_max = static_cast<uint32_t>(
        random_.Between(GroupPages(page_bytes), SpacePagesMax(page_bytes) / 64));
    SpaceSize now{6, 1};
    uint64_t steps = 0;
    for (;; ++steps) {
      const auto wanted = static_cast<uint32_t>(random_.Between(1, 20));
      const std::optional<SpaceSize> next = PlanGrowth(now, wanted, page_bytes, pages_max);
      if (!next.has_value()) break;
      ASSERT_GT(next->file_pages, now.file_pages);
      ASSERT_LE(next->file_pages, pages_max);
      ASSERT_LE(next->file_pages, uint64_t{next->groups} * GroupPages(page_bytes));
      // A new group has room for what was wanted beside its bitmap page.
      const bool new_group = next->groups > now.groups;
      ASSERT_EQ(next->groups, now.groups + (new_group ? 1 : 0));
      ASSERT_TRUE(!new_group || next->file_pages >= now.file_pages + wanted + 1);
      ASSERT_TRUE(!new_group || now.file_pages == now.groups * GroupPages(page_bytes));
      now = *next;
    }
    EXPECT_GT(now.file_pages + 20 + ExtentPages(page_bytes), pages_max) << "full";
    EXPECT_LT(steps, pages_max / ExtentPages(page_bytes) + 64) << "by an extent at least";
  }
}

}  // namespace
}  // namespace rowan
