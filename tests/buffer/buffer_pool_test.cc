// SPDX-License-Identifier: GPL-2.0-only
// The door of the pool: the ways to hold a page, and what they leave behind in its frame.
#include "buffer/buffer_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "buffer/eviction.h"
#include "tests/buffer/hooked_file_system.h"
#include "tests/buffer/pool_fixture.h"
#include "tests/support/fault_file_system.h"

namespace rowan {
namespace {

class BufferPoolTest : public ::testing::Test {
 protected:
  /// No page of the table's space is in the pool afterwards.
  void SetUp() override {
    fixture_.Create();
    ASSERT_TRUE(fixture_.Start().ok());
    hooked_.SetReadHook([this](const std::string& path, Bytes) {
      reads_ += path == fixture_.files().PathOf(PoolFixture::kSpace) ? 1 : 0;
    });
  }
  void TearDown() override { hooked_.SetReadHook({}); }
  BufferPool& pool() { return fixture_.pool(); }
  Result<PageGuard> Fix(uint32_t page, LatchMode mode, FixHint hint = FixHint::kNormal) {
    return pool().Fix(PoolFixture::Id(page), mode, hint);
  }
  uint8_t UsageOf(uint32_t page) {
    OptimisticPage held;
    EXPECT_TRUE(pool().FixOptimistic(PoolFixture::Id(page), FixHint::kScan, &held).ok());
    return held.frame->usage.load();
  }

  FaultFileSystem disk_{TestSeed()};
  HookedFileSystem hooked_{&disk_};
  PoolFixture fixture_{&hooked_, {.pool_pages = 64, .space_pages = 40}};
  std::atomic<uint64_t> reads_{0};
};

TEST_F(BufferPoolTest, AHitRaisesTheUsageUnlessItIsOfAScan) {
  ASSERT_TRUE(Fix(1, LatchMode::kShared, FixHint::kScan).ok());
  EXPECT_EQ(UsageOf(1), kUsageScan);
  ASSERT_TRUE(Fix(1, LatchMode::kShared, FixHint::kScan).ok());
  EXPECT_EQ(UsageOf(1), kUsageScan);
  ASSERT_TRUE(Fix(1, LatchMode::kExclusive).ok());
  EXPECT_EQ(UsageOf(1), kUsageHit);
  OptimisticPage page;
  ASSERT_TRUE(pool().FixOptimistic(PoolFixture::Id(1), FixHint::kNormal, &page).ok());
  EXPECT_EQ(UsageOf(1), kUsageInner);
  ASSERT_TRUE(Fix(1, LatchMode::kShared).ok());
  EXPECT_EQ(UsageOf(1), kUsageInner) << "never lowered by a hit";
  ASSERT_TRUE(Fix(2, LatchMode::kShared).ok());
  EXPECT_EQ(UsageOf(2), kUsageEntered);
  EXPECT_EQ(reads_, 2u);
}

TEST_F(BufferPoolTest, SharedHoldersAreTogetherAndAnExclusiveOneAlone) {
  Result<PageGuard> first = Fix(1, LatchMode::kShared);
  Result<PageGuard> second = Fix(1, LatchMode::kShared);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(first->frame(), second->frame());
  Frame* frame = first->frame();
  EXPECT_FALSE(frame->latch.TryLockExclusive());
  first->Release();
  second->Release();
  Result<PageGuard> alone = Fix(1, LatchMode::kExclusive);
  ASSERT_TRUE(alone.ok());
  EXPECT_FALSE(frame->latch.TryLockShared());
  // A guard that was moved from holds nothing, and one that is assigned to lets go first.
  PageGuard other = std::move(*alone);
  EXPECT_FALSE(alone->held());
  EXPECT_TRUE(frame->latch.IsLockedExclusive());
  other = std::move(Fix(2, LatchMode::kShared).value());
  EXPECT_FALSE(frame->latch.IsLockedExclusive());
  EXPECT_EQ(other.id(), PoolFixture::Id(2));
}

TEST_F(BufferPoolTest, AnOptimisticReaderNoticesEachExclusiveHolderAndNoSharedOne) {
  OptimisticPage page;
  ASSERT_TRUE(pool().FixOptimistic(PoolFixture::Id(1), FixHint::kNormal, &page).ok());
  EXPECT_TRUE(page.Validate());
  { Result<PageGuard> reader = Fix(1, LatchMode::kShared); }
  EXPECT_TRUE(page.Validate());
  {
    Result<PageGuard> writer = Fix(1, LatchMode::kExclusive);
    EXPECT_FALSE(page.Validate());
  }
  EXPECT_FALSE(page.Validate()) << "though it changed nothing";
}

TEST_F(BufferPoolTest, AnAbsentPageIsReadAndOneThatIsThereIsNotWaitedFor) {
  {
    Result<PageGuard> guard = pool().FixAbsent(PoolFixture::Id(1), FixHint::kScan);
    ASSERT_TRUE(guard.ok());
    EXPECT_EQ(guard->mode(), LatchMode::kShared);
    EXPECT_EQ(fixture_.CounterOf(guard->page()), 0u);
  }
  EXPECT_TRUE(pool().FixAbsent(PoolFixture::Id(1), FixHint::kScan).status().Is(Code::kRestart));
  Result<PageGuard> mine = Fix(1, LatchMode::kExclusive);
  ASSERT_TRUE(mine.ok());
  EXPECT_TRUE(pool().FixAbsent(PoolFixture::Id(1), FixHint::kScan).status().Is(Code::kRestart));
  EXPECT_EQ(reads_, 1u);
}

TEST_F(BufferPoolTest, ANewPageIsZeroWhateverItWasAndIsNotRead) {
  ASSERT_TRUE(fixture_.Add(2, 7).ok());
  const uint64_t reads = reads_;
  for (const uint32_t page : {1u, 2u}) {
    Result<PageGuard> guard = pool().FixNew(PoolFixture::Id(page));
    ASSERT_TRUE(guard.ok());
    EXPECT_EQ(guard->mode(), LatchMode::kExclusive);
    const Bytes bytes(guard->page(), pool().page_size_bytes());
    for (const std::byte byte : bytes) ASSERT_EQ(byte, std::byte{0});
    pool().Discard(std::move(*guard));
    EXPECT_FALSE(pool().IsResident(PoolFixture::Id(page)));
  }
  EXPECT_EQ(reads_, reads);
  EXPECT_EQ(pool().Statistics().dirty_frames, 0u);
}

TEST_F(BufferPoolTest, TellsWhatItHoldsAndWhatOfItIsDirty) {
  const PoolStatistics before = pool().Statistics();
  EXPECT_EQ(before.frames, 64u);
  for (uint32_t page = 1; page <= 10; ++page) ASSERT_TRUE(Fix(page, LatchMode::kShared).ok());
  for (uint32_t page = 1; page <= 3; ++page) ASSERT_TRUE(fixture_.Add(page, 1).ok());
  const SpacePages pages = pool().PagesBySpace()[PoolFixture::kSpace];
  EXPECT_EQ(pages.pages, 10u);
  EXPECT_EQ(pages.dirty, 3u);
  for (uint32_t page = 1; page <= 11; ++page) {
    EXPECT_EQ(pool().IsResident(PoolFixture::Id(page)), page <= 10);
    EXPECT_EQ(pool().IsDirty(PoolFixture::Id(page)), page <= 3);
  }
  const PoolStatistics now = pool().Statistics();
  EXPECT_EQ(now.free_frames, before.free_frames - 10);
  EXPECT_EQ(now.dirty_frames, before.dirty_frames + 3);
  EXPECT_EQ(now.checkpoint_lsn, before.checkpoint_lsn);
  EXPECT_EQ(now.checkpoint_age_bytes, fixture_.log().tail() - now.checkpoint_lsn);
  ASSERT_TRUE(pool().FlushAndCheckpoint().ok());
  EXPECT_EQ(pool().PagesBySpace()[PoolFixture::kSpace].dirty, 0u);
  EXPECT_EQ(pool().PagesBySpace()[PoolFixture::kSpace].pages, 10u);
  EXPECT_EQ(pool().Statistics().checkpoint_age_bytes, 0u);
}

TEST_F(BufferPoolTest, AFlushThatIsToldToStopLeavesPagesDirtyForTheNext) {
  for (uint32_t page = 1; page <= 30; ++page) ASSERT_TRUE(fixture_.Add(page, 1).ok());
  const Lsn before = pool().Statistics().checkpoint_lsn;
  EXPECT_TRUE(pool()
                  .FlushAndCheckpoint(FlushReason::kCheckpoint, [] { return true; })
                  .Is(Code::kInterrupted));
  EXPECT_GT(pool().Statistics().dirty_frames, 0u);
  EXPECT_EQ(pool().Statistics().checkpoint_lsn, before);
  ASSERT_TRUE(pool().FlushAndCheckpoint().ok());
  EXPECT_EQ(pool().Statistics().dirty_frames, 0u);
  EXPECT_EQ(pool().Statistics().checkpoint_lsn, fixture_.log().tail());
}

TEST_F(BufferPoolTest, AnImageReadPastThePoolIsJudgedWithoutAReport) {
  const PageId id = PoolFixture::Id(3);
  std::vector<std::byte> image = fixture_.ReadHome(3);
  EXPECT_EQ(pool().WrongWith(image, id), "");
  EXPECT_NE(pool().WrongWith(image, PoolFixture::Id(4)), "");
  image[200] ^= std::byte{1};
  EXPECT_NE(pool().WrongWith(image, id), "");
}

}  // namespace
}  // namespace rowan
