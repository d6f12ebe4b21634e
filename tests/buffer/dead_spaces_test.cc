// SPDX-License-Identifier: GPL-2.0-only
// Frames of dropped spaces: found by page number or by a walk, bit by bit, and without I/O.
#include "buffer/dead_spaces.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tests/buffer/pool_parts.h"

namespace rowan {
namespace {

class DeadSpacesTest : public PoolParts {
 protected:
  void SetUp() override {
    PoolParts::SetUp();
    dead_ = std::make_unique<DeadSpaces>(frames_.get(), &fixture_.files());
    CountPageIo();
  }
  void DropSpace() {
    ASSERT_TRUE(fixture_.files().Drop(PoolFixture::kSpace).ok());
    page_writes_ = 0;
  }

  std::unique_ptr<DeadSpaces> dead_;
};

/// Found by number, of a file that had few pages, or by a walk over the frames.
class DeadSpaceTest : public DeadSpacesTest, public ::testing::WithParamInterface<uint32_t> {};
INSTANTIATE_TEST_SUITE_P(PagesMax, DeadSpaceTest, ::testing::Values(11u, UINT32_MAX));

TEST_P(DeadSpaceTest, ItsPagesAreForgottenAndNothingIsWritten) {
  const std::vector<Frame*> pages = NewPages(1, 10);
  for (uint32_t i = 0; i < 10; i += 2) Change(pages[i]);
  ASSERT_NO_FATAL_FAILURE(DropSpace());
  dead_->Add(PoolFixture::kSpace, GetParam());
  EXPECT_FALSE(dead_->ForgetSome()) << "nothing more to do";
  EXPECT_EQ(frames_->free_frames(), kFrames);
  EXPECT_EQ(frames_->dirty_frames(), 0u);
  EXPECT_EQ(page_writes_, 0u);
}

TEST_F(DeadSpacesTest, OnlyTheFirstPagesAreLookedForInASmallFile) {
  NewPages(1, 10);
  ASSERT_NO_FATAL_FAILURE(DropSpace());
  dead_->Add(PoolFixture::kSpace, 6);
  EXPECT_FALSE(dead_->ForgetSome());
  for (uint32_t page = 1; page <= 10; ++page) EXPECT_EQ(IsResident(page), page >= 6) << page;
}

TEST_P(DeadSpaceTest, AFrameInUseGoesTheUsualWayLater) {
  const std::vector<Frame*> pages = NewPages(1, 3);
  ASSERT_NO_FATAL_FAILURE(DropSpace());
  ASSERT_TRUE(pages[0]->latch.TryLockShared());
  pages[1]->io_in_progress = 1;
  dead_->Add(PoolFixture::kSpace, GetParam());
  EXPECT_FALSE(dead_->ForgetSome());
  EXPECT_TRUE(IsResident(1));
  EXPECT_TRUE(IsResident(2));
  EXPECT_FALSE(IsResident(3));
  pages[0]->latch.UnlockShared();
  pages[1]->io_in_progress = 0;
  EXPECT_TRUE(frames_->TryTakeClean(pages[0]));
  frames_->Free(pages[0]);
}

TEST_F(DeadSpacesTest, PagesOfOtherSpacesStay) {
  NewPages(1, 4);
  const PageId other{kUndoSpace, PageNumber(0)};
  Result<Frame*> loaded = loader_->Load(other, FixHint::kNormal);
  ASSERT_TRUE(loaded.ok());
  (*loaded)->latch.UnlockExclusive();
  ASSERT_NO_FATAL_FAILURE(DropSpace());
  dead_->Add(PoolFixture::kSpace, UINT32_MAX);
  // Named by mistake: it is live.
  dead_->Add(kUndoSpace, 1);
  EXPECT_FALSE(dead_->ForgetSome());
  EXPECT_NE(frames_->Lookup(other.Packed()), PageTable::kNone);
  EXPECT_EQ(frames_->free_frames(), kFrames - 1);
}

TEST_F(DeadSpacesTest, ALargePoolIsWalkedInStepsAndOnceForSeveralSpaces) {
  constexpr uint32_t kMany = 80'000;
  auto arena = FrameArena::Create(4096, kMany, kMany);
  ASSERT_TRUE(arena.ok());
  frames_ = std::make_unique<FrameTable>(std::move(arena).value());
  dead_ = std::make_unique<DeadSpaces>(frames_.get(), &fixture_.files());
  // Neither is known to the files any more; every other frame has a page of the second one.
  const SpaceId spaces[] = {SpaceId(100), SpaceId(101)};
  for (uint32_t i = 0; i < kMany; ++i) {
    Frame* frame = frames_->Claim();
    const PageId id{spaces[i % 2], PageNumber(1 + i)};
    ASSERT_EQ(frames_->Publish(frame, id.Packed()), PageTable::kNone);
    FrameTable::EndLoad(frame, kUsageScan);
    frame->latch.UnlockExclusive();
  }
  dead_->Add(spaces[0], UINT32_MAX);
  EXPECT_TRUE(dead_->ForgetSome()) << "there is more to do";
  const uint32_t step = 2 * frames_->free_frames();
  EXPECT_GT(step, 0u);
  EXPECT_LT(step, kMany);
  EXPECT_TRUE(dead_->ForgetSome());
  EXPECT_EQ(frames_->free_frames(), step);
  // Another one in the midst of the walk: it begins again, for both.
  dead_->Add(spaces[1], UINT32_MAX);
  while (dead_->ForgetSome()) {
  }
  EXPECT_EQ(frames_->free_frames(), kMany);
  EXPECT_FALSE(dead_->ForgetSome());
}

}  // namespace
}  // namespace rowan
