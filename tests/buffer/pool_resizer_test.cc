// SPDX-License-Identifier: GPL-2.0-only
// Changing the number of frames: what is refused, where the pages of a shrinking pool go, and what
// is left when the engine stops meanwhile.
#include "buffer/pool_resizer.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/buffer/pool_parts.h"

namespace rowan {
namespace {

class PoolResizerTest : public PoolParts {
 protected:
  static constexpr uint32_t kLarge = 3 * kFrames;

  void SetUp() override {
    PoolParts::SetUp();
    resizer_ = std::make_unique<PoolResizer>(frames_.get(), checkpointer_.get(), &limiter_);
  }
  Status Resize(uint64_t frames) { return resizer_->Resize(frames, writer_.get()); }
  uint32_t Retired() {
    uint32_t retired = 0;
    for (uint32_t i = 0; i < frames_->frames_ever(); ++i) {
      retired += frames_->frame(i)->state.load() == FrameState::kRetired ? 1 : 0;
    }
    return retired;
  }

  MiniTxnLimiter limiter_{kFrames};
  std::unique_ptr<PoolResizer> resizer_;
};

TEST_F(PoolResizerTest, SizesBeyondTheLimitsAreRefusedAndChangeNothing) {
  NewPages(1, kFrames);
  for (const uint64_t frames :
       {uint64_t{0}, uint64_t{kPoolPagesMin} - 1, uint64_t{4} * kFrames + 1, uint64_t{1} << 40}) {
    EXPECT_TRUE(Resize(frames).Is(Code::kInvalidArgument)) << frames;
    EXPECT_EQ(frames_->limit(), kFrames);
  }
  for (uint32_t page = 1; page <= kFrames; ++page) EXPECT_TRUE(IsResident(page));
}

TEST_F(PoolResizerTest, ALargerPoolKeepsItsPagesAndHasMoreFreeFrames) {
  const std::vector<Frame*> pages = NewPages(1, kFrames);
  Change(pages[3]);
  ASSERT_TRUE(Resize(kLarge).ok());
  EXPECT_EQ(frames_->limit(), kLarge);
  EXPECT_EQ(frames_->free_frames(), kLarge - kFrames);
  EXPECT_EQ(frames_->dirty_frames(), 1u);
  for (uint32_t i = 0; i < kFrames; ++i) {
    EXPECT_EQ(frames_->Lookup(PoolFixture::Id(1 + i).Packed()), pages[i]->number);
  }
  // All of them can be had.
  const std::vector<Frame*> more = NewPages(1 + kFrames, kLarge - kFrames);
  EXPECT_EQ(frames_->Claim(), nullptr);
}

TEST_F(PoolResizerTest, ASmallerPoolWritesAndDropsWhatLiesBeyondItsEnd) {
  ASSERT_TRUE(Resize(kLarge).ok());
  const std::vector<Frame*> pages = NewPages(1, kLarge);
  for (Frame* frame : pages) Change(frame);
  ASSERT_TRUE(Resize(kFrames).ok());
  EXPECT_EQ(frames_->limit(), kFrames);
  EXPECT_EQ(Retired(), kLarge - kFrames);
  EXPECT_EQ(frames_->free_frames(), 0u);
  for (uint32_t page = 1; page <= kLarge; ++page) {
    EXPECT_EQ(IsResident(page), page <= kFrames) << page;
    if (page <= kFrames) continue;
    EXPECT_EQ(PageIdOf(fixture_.ReadHome(page).data()), PoolFixture::Id(page));
  }
  // What stays is as dirty as it was.
  EXPECT_EQ(frames_->dirty_frames(), kFrames);
}

TEST_F(PoolResizerTest, RetiredFramesAreFreeAgainWhenThePoolGrows) {
  ASSERT_TRUE(Resize(kLarge).ok());
  NewPages(1, kLarge);
  ASSERT_TRUE(Resize(kFrames).ok());
  ASSERT_TRUE(Resize(kLarge - 5).ok());
  EXPECT_EQ(frames_->free_frames(), kLarge - 5 - kFrames);
  EXPECT_EQ(Retired(), 5u);
  std::vector<Frame*> claimed;
  while (Frame* frame = frames_->Claim()) claimed.push_back(frame);
  EXPECT_EQ(claimed.size(), kLarge - 5 - kFrames);
  for (Frame* frame : claimed) {
    EXPECT_LT(frame->number, kLarge - 5);
    frames_->Free(frame);
  }
}

TEST_F(PoolResizerTest, FramesThatWereFreeAreRetired) {
  ASSERT_TRUE(Resize(kLarge).ok());
  // All are used once, and in the list of free ones then.
  std::vector<Frame*> taken;
  while (Frame* frame = frames_->Claim()) taken.push_back(frame);
  for (Frame* frame : taken) frames_->Free(frame);
  ASSERT_TRUE(Resize(kFrames).ok());
  EXPECT_EQ(Retired(), kLarge - kFrames);
  EXPECT_EQ(frames_->free_frames(), kFrames);
}

TEST_F(PoolResizerTest, AStoppedEngineEndsTheShrinkingAndLosesNothing) {
  ASSERT_TRUE(Resize(kLarge).ok());
  for (Frame* frame : NewPages(1, kLarge)) Change(frame);
  fixture_.log().Stop("a test");
  EXPECT_TRUE(Resize(kFrames).Is(Code::kStopped));
  EXPECT_EQ(frames_->dirty_frames(), kLarge);
  for (uint32_t page = 1; page <= kLarge; ++page) EXPECT_TRUE(IsResident(page));
}

TEST_F(PoolResizerTest, AFailedWriteEndsTheShrinkingAndStopsTheEngine) {
  ASSERT_TRUE(Resize(kLarge).ok());
  for (Frame* frame : NewPages(1, kLarge)) Change(frame);
  fs_.Inject({.call = FileCall::kWrite, .path_part = "space_"});
  EXPECT_TRUE(Resize(kFrames).Is(Code::kStopped));
  EXPECT_TRUE(fixture_.log().stopped());
  // Only what is at home may have left the pool.
  for (uint32_t page = 1; page <= kLarge; ++page) {
    if (IsResident(page)) continue;
    EXPECT_EQ(PageIdOf(fixture_.ReadHome(page).data()), PoolFixture::Id(page));
  }
  EXPECT_GT(frames_->dirty_frames(), 0u);
}

}  // namespace
}  // namespace rowan
