// SPDX-License-Identifier: GPL-2.0-only
// The clock: which pages go, and which are passed over; and the thread that keeps frames free.
#include "buffer/eviction.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "buffer/cleaner.h"
#include "buffer/dead_spaces.h"
#include "buffer/evictor.h"
#include "tests/buffer/pool_parts.h"
#include "tests/support/await.h"

namespace rowan {
namespace {

class EvictionTest : public PoolParts {
 protected:
  Frame* Evict(uint64_t steps) {
    dirty_seen_ = 0;
    return EvictClean(frames_.get(), steps, &dirty_seen_);
  }
  uint64_t dirty_seen_ = 0;
};

TEST_F(EvictionTest, EachPassOfTheHandLowersTheUsageByOne) {
  for (const uint8_t usage : {kUsageScan, kUsageEntered, kUsageHit, kUsageInner}) {
    Frame* frame = NewPage(1 + usage, usage);
    for (int left = usage; left > 0; --left) {
      EXPECT_EQ(frame->usage.load(), left);
      EXPECT_FALSE(ClockSelects(frame));
    }
    EXPECT_TRUE(ClockSelects(frame));
    EXPECT_EQ(frame->usage.load(), 0);
  }
}

TEST_F(EvictionTest, AFrameWithoutAPageIsNotSelected) {
  Frame* frame = frames_->Claim();
  EXPECT_FALSE(ClockSelects(frame)) << "loading";
  frames_->Free(frame);
  EXPECT_FALSE(ClockSelects(frame)) << "free";
}

TEST_F(EvictionTest, TheNextCleanPageThatNobodyUsesGoes) {
  const std::vector<Frame*> pages = NewPages(1, kFrames);
  for (Frame* frame : pages) frame->usage = kUsageEntered;
  Change(pages[0]);
  ASSERT_TRUE(pages[1]->latch.TryLockShared());
  pages[2]->io_in_progress = 1;
  pages[3]->usage = kUsageHit;
  EXPECT_EQ(Evict(kFrames), nullptr) << "all were used since the hand came by";
  EXPECT_EQ(dirty_seen_, 0u);
  // The second round: one dirty, one latched, one being written, one used twice.
  Frame* frame = Evict(kFrames);
  ASSERT_EQ(frame, pages[4]);
  EXPECT_EQ(dirty_seen_, 1u);
  EXPECT_TRUE(frame->latch.IsLockedExclusive());
  EXPECT_EQ(frame->state.load(), FrameState::kLoading);
  EXPECT_EQ(frame->page_id.load(), 0u);
  EXPECT_FALSE(IsResident(5));
  for (const uint32_t page : {1u, 2u, 3u, 4u}) EXPECT_TRUE(IsResident(page));
  pages[1]->latch.UnlockShared();
  pages[2]->io_in_progress = 0;
  frames_->Free(frame);
}

TEST_F(EvictionTest, NoMoreFramesAreLookedAtThanAllowed) {
  const std::vector<Frame*> pages = NewPages(1, kFrames);
  for (uint32_t i = 0; i < 10; ++i) Change(pages[i]);
  EXPECT_EQ(Evict(4), nullptr);
  EXPECT_EQ(dirty_seen_, 4u);
  // The hand goes on where it was.
  EXPECT_EQ(Evict(6), nullptr);
  EXPECT_EQ(dirty_seen_, 6u);
  Frame* frame = Evict(1);
  ASSERT_EQ(frame, pages[10]);
  frames_->Free(frame);
}

TEST_F(EvictionTest, FreeFramesAreAPercentOrTwoAndAFewInASmallPool) {
  EXPECT_EQ(FreeFramesLow(16), 2u);
  EXPECT_EQ(FreeFramesHigh(16), 4u);
  EXPECT_EQ(FreeFramesLow(8000), 80u);
  EXPECT_EQ(FreeFramesHigh(8000), 160u);
}

/// With the evictor's thread.
class EvictorTest : public EvictionTest {
 protected:
  void SetUp() override {
    EvictionTest::SetUp();
    dead_spaces_ = std::make_unique<DeadSpaces>(frames_.get(), &fixture_.files());
    cleaners_ = std::make_unique<Cleaners>(frames_.get(), page_files_.get(), checkpointer_.get(),
                                           doublewrite_.get(), kSlots);
    evictor_ = std::make_unique<Evictor>(frames_.get(), dead_spaces_.get(), cleaners_.get());
  }
  void TearDown() override {
    evictor_->Stop();
    PoolParts::TearDown();
  }

  std::unique_ptr<DeadSpaces> dead_spaces_;
  std::unique_ptr<Cleaners> cleaners_;
  std::unique_ptr<Evictor> evictor_;
};

TEST_F(EvictorTest, FreesCleanPagesUpToItsGoalAndNoMore) {
  for (Frame* frame : NewPages(1, kFrames)) frame->usage = kUsageHit;
  ASSERT_TRUE(evictor_->Start().ok());
  EXPECT_TRUE(Await([&] { return frames_->free_frames() >= FreeFramesHigh(kFrames); }));
  evictor_->Stop();
  EXPECT_EQ(frames_->free_frames(), FreeFramesHigh(kFrames));
  EXPECT_EQ(frames_->dirty_frames(), 0u);
}

TEST_F(EvictorTest, AsksForCleanPagesWhereAllAreDirty) {
  for (Frame* frame : NewPages(1, kFrames)) Change(frame);
  ASSERT_TRUE(evictor_->Start().ok());
  EXPECT_TRUE(Await([&] { return frames_->TakeWantCleanFrames(); }));
  evictor_->Stop();
  EXPECT_EQ(frames_->free_frames(), 0u);
  EXPECT_EQ(frames_->dirty_frames(), kFrames);
}

TEST_F(EvictorTest, FreesFramesOfDroppedSpacesWhateverTheyHold) {
  for (Frame* frame : NewPages(1, kFrames)) Change(frame);
  ASSERT_TRUE(fixture_.files().Drop(PoolFixture::kSpace).ok());
  dead_spaces_->Add(PoolFixture::kSpace, UINT32_MAX);
  ASSERT_TRUE(evictor_->Start().ok());
  EXPECT_TRUE(Await([&] { return frames_->free_frames() == kFrames; }));
  EXPECT_EQ(frames_->dirty_frames(), 0u);
}

}  // namespace
}  // namespace rowan
