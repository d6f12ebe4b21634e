// SPDX-License-Identifier: GPL-2.0-only
// Empty frames for pages that come in: from where they are taken first, what is written for them,
// and what is left alone.
#include "buffer/frame_supply.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "tests/buffer/pool_parts.h"

namespace rowan {
namespace {

class FrameSupplyTest : public PoolParts {
 protected:
  void SetUp() override {
    PoolParts::SetUp();
    CountPageIo();
  }
  Frame* Listed(Frame* frame, uint32_t page) {
    EXPECT_EQ(frames_->Publish(frame, PoolFixture::Id(page).Packed()), PageTable::kNone);
    return frame;
  }
  void ExpectEmpty(Frame* frame) {
    ASSERT_NE(frame, nullptr);
    EXPECT_TRUE(frame->latch.IsLockedExclusive());
    EXPECT_EQ(frame->state.load(), FrameState::kLoading);
    EXPECT_EQ(frame->page_id.load(), 0u);
    EXPECT_EQ(frame->FirstDirtyLsn(), kNoLsn);
  }
};

TEST_F(FrameSupplyTest, FreeFramesComeFirstThenCleanPages) {
  NewPages(1, 10);
  std::set<Frame*> taken;
  for (uint32_t i = 0; i < kFrames; ++i) {
    // As long as there are free ones, no page goes.
    EXPECT_EQ(IsResident(1), i <= 6) << i;
    Result<Frame*> frame = supply_->Take();
    ASSERT_TRUE(frame.ok());
    ExpectEmpty(*frame);
    EXPECT_TRUE(taken.insert(*frame).second);
  }
  for (uint32_t page = 1; page <= 10; ++page) EXPECT_FALSE(IsResident(page));
  EXPECT_EQ(supply_->TryTake(), nullptr) << "all are in use";
  EXPECT_EQ(page_writes_, 0u);
  for (Frame* frame : taken) frames_->Free(frame);
  EXPECT_EQ(frames_->free_frames(), kFrames);
}

TEST_F(FrameSupplyTest, OnlyTakeWritesDirtyPagesAndTheyReachTheirFile) {
  for (Frame* frame : NewPages(1, kFrames)) Change(frame);
  ASSERT_EQ(frames_->dirty_frames(), kFrames);
  page_writes_ = 0;
  EXPECT_EQ(supply_->TryTake(), nullptr);
  EXPECT_EQ(page_writes_, 0u);
  EXPECT_TRUE(frames_->TakeWantCleanFrames()) << "the cleaners are told";
  EXPECT_FALSE(frames_->TakeWantCleanFrames());
  Result<Frame*> frame = supply_->Take();
  ASSERT_TRUE(frame.ok());
  ExpectEmpty(*frame);
  EXPECT_GT(page_writes_, 0u);
  EXPECT_LT(frames_->dirty_frames(), kFrames);
  for (uint32_t page = 1; page <= kFrames; ++page) {
    if (IsResident(page)) continue;
    EXPECT_EQ(PageIdOf(fixture_.ReadHome(page).data()), PoolFixture::Id(page));
  }
  frames_->Free(*frame);
}

TEST_F(FrameSupplyTest, WhoTakesTheOnlyCleanPageWritesOthers) {
  const std::vector<Frame*> pages = NewPages(1, kFrames);
  for (uint32_t i = 1; i < kFrames; ++i) Change(pages[i]);
  pages[0]->usage = kUsageInner;  // of one who comes back for it
  Result<Frame*> frame = supply_->Take();
  ASSERT_TRUE(frame.ok());
  EXPECT_EQ(*frame, pages[0]);
  ExpectEmpty(*frame);
  EXPECT_LT(frames_->dirty_frames(), kFrames - 1);
  frames_->Free(*frame);
}

TEST_F(FrameSupplyTest, AmongCleanPagesNothingIsWritten) {
  const std::vector<Frame*> pages = NewPages(1, kFrames);
  for (uint32_t i = 0; i < kFrames / 2; ++i) Change(pages[i]);
  page_writes_ = 0;
  for (uint32_t i = 0; i < kFrames / 2; ++i) {
    Result<Frame*> frame = supply_->Take();
    ASSERT_TRUE(frame.ok());
    EXPECT_EQ(page_writes_, 0u);
    FrameTable::EndLoad(Listed(*frame, 40 + i), kUsageScan);
    (*frame)->latch.UnlockExclusive();
  }
}

TEST_F(FrameSupplyTest, NoPageLatchIsWaitedFor) {
  const std::vector<Frame*> pages = NewPages(1, kFrames);
  for (Frame* frame : pages) Change(frame);
  // This thread holds all but one, half of them shared; the last one has to be written.
  for (uint32_t i = 0; i + 1 < kFrames; ++i) {
    ASSERT_TRUE(i % 2 == 0 ? pages[i]->latch.TryLockShared() : pages[i]->latch.TryLockExclusive());
  }
  Result<Frame*> frame = supply_->Take();
  ASSERT_TRUE(frame.ok());
  EXPECT_EQ(*frame, pages.back());
  ExpectEmpty(*frame);
  frames_->Free(*frame);
  for (uint32_t i = 0; i + 1 < kFrames; ++i) {
    EXPECT_TRUE(IsResident(1 + i));
    i % 2 == 0 ? pages[i]->latch.UnlockShared() : pages[i]->latch.UnlockExclusive();
  }
}

TEST_F(FrameSupplyTest, PagesThatCannotBeWrittenStopTheSearch) {
  for (Frame* frame : NewPages(1, kFrames)) Change(frame);
  fixture_.log().Stop("a test");
  EXPECT_TRUE(supply_->Take().status().Is(Code::kStopped));
  EXPECT_EQ(frames_->dirty_frames(), kFrames);
  for (uint32_t page = 1; page <= kFrames; ++page) EXPECT_TRUE(IsResident(page));
}

TEST_F(FrameSupplyTest, CleanPagesAreTakenThoughTheEngineIsStopped) {
  const std::vector<Frame*> pages = NewPages(1, kFrames);
  for (uint32_t i = 1; i < kFrames; ++i) Change(pages[i]);
  fixture_.log().Stop("a test");
  Result<Frame*> frame = supply_->Take();
  ASSERT_TRUE(frame.ok());
  EXPECT_EQ(*frame, pages[0]);
  frames_->Free(*frame);
}

TEST_F(FrameSupplyTest, TheEvictorIsWokenWhenFreeFramesRunLow) {
  uint32_t woken = 0;
  supply_->SetWakeEvictor([&woken] { ++woken; });
  std::vector<Frame*> taken;
  for (uint32_t i = 0; i < kFrames; ++i) {
    const uint32_t free_before = frames_->free_frames();
    const uint32_t before = woken;
    taken.push_back(supply_->TryTake());
    ASSERT_NE(taken.back(), nullptr);
    EXPECT_EQ(woken - before, free_before - 1 < FreeFramesLow(kFrames) ? 1u : 0u);
  }
  EXPECT_EQ(woken, FreeFramesLow(kFrames));
  for (Frame* frame : taken) frames_->Free(frame);
}

}  // namespace
}  // namespace rowan
