// SPDX-License-Identifier: GPL-2.0-only
// Trees that are destroyed in steps or built at once, with the power cut in between.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "base/random.h"
#include "btree/bulk_builder.h"
#include "tests/btree/tree_fixture.h"
#include "tests/support/log_capture.h"

namespace rowan::tree_steps_test {
namespace {

constexpr uint32_t kOwnPages = 2;  // of the space

std::string KeyOf(uint64_t number) {
  std::string key(8, '\0');
  StoreBe64(reinterpret_cast<std::byte*>(key.data()), number);
  return key;
}

class TreeStepsTest : public testing::Test {
 protected:
  void Fill(uint64_t entries) {
    for (uint64_t i = 0; i < entries; ++i) {
      ASSERT_TRUE(world_.Put(KeyOf(random_.Next()), std::string(100, 'v')).ok());
    }
  }
  uint32_t UsedPages() {
    return world_.space().allocator().CheckSpace(SpaceFixture::kSpace).value();
  }
  Status MakeDurable() { return world_.space().log().WaitDurable(world_.space().log().tail()); }
  uint64_t Entries() {
    uint64_t entries = 0;
    EXPECT_TRUE(world_.tree()
                    .Check([&entries](Bytes, Bytes) {
                      ++entries;
                      return Status::Ok();
                    })
                    .ok());
    return entries;
  }

  TreeFixture world_{{}, TestSeed()};
  Random random_{TestSeed()};
};

TEST_F(TreeStepsTest, DestroyingTakesAStepForEachPageAndTheRestIsATree) {
  ASSERT_NO_FATAL_FAILURE(Fill(4000));
  uint32_t pages = UsedPages() - kOwnPages;
  ASSERT_GT(pages, 10u);
  while (pages > 1) {
    const uint64_t steps = random_.Between(1, 8);
    WorkBudget budget(steps);
    const Status status = world_.tree().Destroy(&budget);
    const uint32_t left = UsedPages() - kOwnPages;
    EXPECT_LE(pages - left, steps + 1);
    EXPECT_LT(left, pages);
    pages = left;
    ASSERT_TRUE(pages == 0 ? status.ok() : status.Is(Code::kBusy)) << status.message();
  }
}

TEST_F(TreeStepsTest, DestroyingGoesOnAfterACrashAnywhere) {
  ASSERT_NO_FATAL_FAILURE(Fill(3000));
  ASSERT_TRUE(world_.space().pool().FlushAndCheckpoint().ok());
  for (int round = 0; round < 8; ++round) {
    SCOPED_TRACE(world_.file_system().Describe());
    const LogCapture quiet;
    WorkBudget budget(random_.Below(30));
    world_.file_system().PowerOffAfter(random_.Below(6));
    world_.tree().Destroy(&budget).Ignore();
    MakeDurable().Ignore();
    world_.Kill();
    world_.file_system().Crash(random_.Next());
    ASSERT_TRUE(world_.Restart().ok());
  }
  WorkBudget all(UINT64_MAX);
  ASSERT_TRUE(world_.tree().Destroy(&all).ok());
  EXPECT_EQ(UsedPages(), kOwnPages);
}

TEST_F(TreeStepsTest, ABuildCutShortLeavesTheTreeEmptyAndAFinishedOneIsThere) {
  constexpr uint64_t kEntries = 2000;
  ASSERT_TRUE(world_.space().pool().FlushAndCheckpoint().ok());
  for (const bool finish : {false, true}) {
    SCOPED_TRACE(world_.file_system().Describe());
    BulkBuilder builder(&world_.tree());
    for (uint64_t i = 0; i < kEntries; ++i) {
      ASSERT_TRUE(builder.Add(AsBytes(KeyOf(i)), AsBytes(std::string(80, 'b')), kNoTxn).ok());
    }
    if (finish) {
      ASSERT_TRUE(builder.Finish().ok());
    }
    ASSERT_TRUE(MakeDurable().ok());
    world_.Kill();
    world_.file_system().Crash(random_.Next());
    ASSERT_TRUE(world_.Restart().ok());
    EXPECT_EQ(Entries(), finish ? kEntries : 0);
  }
}

TEST_F(TreeStepsTest, KeysThatDoNotAscendAreRefused) {
  BulkBuilder builder(&world_.tree());
  ASSERT_TRUE(builder.Add(AsBytes("b"), {}, kNoTxn).ok());
  EXPECT_TRUE(builder.Add(AsBytes("b"), {}, kNoTxn).Is(Code::kInvalidArgument));
  EXPECT_TRUE(builder.Add(AsBytes("a"), {}, kNoTxn).Is(Code::kInvalidArgument));
  ASSERT_TRUE(builder.Add(AsBytes("ba"), {}, kNoTxn).ok());
  ASSERT_TRUE(builder.Finish().ok());
  EXPECT_EQ(Entries(), 2u);
}

}  // namespace
}  // namespace rowan::tree_steps_test
