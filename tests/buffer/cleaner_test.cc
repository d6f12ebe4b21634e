// SPDX-License-Identifier: GPL-2.0-only
// What the cleaners write, and when: for those who wait for the log, ahead of eviction, and while
// redo is under way.
#include "buffer/cleaner.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tests/buffer/pool_parts.h"
#include "tests/support/await.h"

namespace rowan {
namespace {

class CleanersTest : public PoolParts {
 protected:
  void SetUp() override {
    PoolParts::SetUp();
    cleaners_ = std::make_unique<Cleaners>(frames_.get(), page_files_.get(), checkpointer_.get(),
                                           doublewrite_.get(), kSlots);
  }
  void TearDown() override {
    cleaners_->Stop();
    PoolParts::TearDown();
  }

  std::unique_ptr<Cleaners> cleaners_;
};

TEST_F(CleanersTest, ASessionThatWaitsForTheLogGetsACheckpointBeyondAllThatIsInIt) {
  for (Frame* frame : NewPages(1, kFrames)) Change(frame);
  const Lsn tail = fixture_.log().tail();
  ASSERT_TRUE(cleaners_->Start().ok());
  cleaners_->OnLogPressure();
  EXPECT_TRUE(Await([&] { return checkpointer_->published() >= tail; }));
  cleaners_->Stop();
  EXPECT_EQ(frames_->dirty_frames(), 0u);
  EXPECT_GE(fixture_.control().data().checkpoint_lsn, tail);
  for (uint32_t page = 1; page <= kFrames; ++page) {
    EXPECT_EQ(PageIdOf(fixture_.ReadHome(page).data()), PoolFixture::Id(page));
  }
}

TEST_F(CleanersTest, PagesThatTheClockTakesNextAreWritten) {
  const std::vector<Frame*> pages = NewPages(1, kFrames);
  for (uint32_t i = 0; i < kFrames; ++i) {
    Change(pages[i]);
    pages[i]->usage = i % 2 == 0 ? kUsageEntered : kUsageHit;
  }
  frames_->WantCleanFrames();
  ASSERT_TRUE(cleaners_->Start().ok());
  EXPECT_TRUE(Await([&] { return frames_->dirty_frames() <= kFrames / 2; }));
  cleaners_->Stop();
  for (uint32_t i = 0; i < kFrames; i += 2) EXPECT_EQ(pages[i]->FirstDirtyLsn(), kNoLsn) << i;
  for (Frame* frame : pages) EXPECT_EQ(frame->latch.IsLockedExclusive(), false);
  EXPECT_FALSE(frames_->TakeWantCleanFrames()) << "it was taken";
}

TEST_F(CleanersTest, WhileRedoIsUnderWayOnlyRoomIsMade) {
  const std::vector<Frame*> pages = NewPages(1, kFrames);
  for (Frame* frame : pages) Change(frame);
  for (uint32_t i = 0; i < kFrames; ++i) pages[i]->usage = i < 3 ? kUsageScan : kUsageInner;
  checkpointer_->BeginRedo();
  frames_->WantCleanFrames();
  ASSERT_TRUE(cleaners_->Start().ok());
  cleaners_->OnLogPressure();
  EXPECT_TRUE(Await([&] { return frames_->dirty_frames() == kFrames - 3; }));
  // Two units more: each takes the wish, and neither sweeps.
  for (int unit = 0; unit < 2; ++unit) {
    frames_->WantCleanFrames();
    cleaners_->Wake();
    EXPECT_TRUE(Await([&] {
      const bool wanted = frames_->TakeWantCleanFrames();
      if (wanted) frames_->WantCleanFrames();
      return !wanted;
    }));
  }
  cleaners_->Stop();
  EXPECT_EQ(frames_->dirty_frames(), kFrames - 3);
  EXPECT_EQ(checkpointer_->published(), Log::kFirstLsn);
}

}  // namespace
}  // namespace rowan
