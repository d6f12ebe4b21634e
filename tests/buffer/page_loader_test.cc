// SPDX-License-Identifier: GPL-2.0-only
// A page on its way into a frame: what is in the frame then, who may have it, and what is left of
// an attempt that failed.
#include "buffer/page_loader.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/buffer/pool_parts.h"
#include "tests/support/log_capture.h"

namespace rowan {
namespace {

class PageLoaderTest : public PoolParts {
 protected:
  PageLoaderTest() : PoolParts(true) {}
  void SetUp() override {
    PoolParts::SetUp();
    CountPageIo();
  }
  void ExpectNothingLeft(PageId id) {
    EXPECT_EQ(frames_->Lookup(id.Packed()), PageTable::kNone);
    EXPECT_EQ(frames_->free_frames(), kFrames);
  }
  void Damage(uint32_t page) {
    std::vector<std::byte> image = fixture_.ReadHome(page);
    image[100] ^= std::byte{1};
    fixture_.WriteHome(page, image);
  }
};

TEST_F(PageLoaderTest, APageComesInLatchedAndWithTheUsageOfItsHint) {
  for (const auto& [hint, usage] :
       std::vector<std::pair<FixHint, uint8_t>>{{FixHint::kNormal, kUsageEntered},
                                                {FixHint::kSpeculative, kUsageEntered},
                                                {FixHint::kScan, kUsageScan},
                                                {FixHint::kSpeculativeScan, kUsageScan}}) {
    const uint32_t page = 1 + static_cast<uint32_t>(hint);
    Result<Frame*> frame = loader_->Load(PoolFixture::Id(page), hint);
    ASSERT_TRUE(frame.ok());
    EXPECT_TRUE((*frame)->latch.IsLockedExclusive());
    EXPECT_EQ((*frame)->state.load(), FrameState::kResident);
    EXPECT_EQ((*frame)->usage.load(), usage);
    EXPECT_EQ((*frame)->FirstDirtyLsn(), kNoLsn);
    EXPECT_EQ(frames_->Lookup(PoolFixture::Id(page).Packed()), (*frame)->number);
    const MutableBytes bytes = frames_->PageOf(*frame);
    EXPECT_EQ(PageIdOf(bytes.data()), PoolFixture::Id(page));
    EXPECT_TRUE(EqualBytes(bytes, fixture_.ReadHome(page)));
    (*frame)->latch.UnlockExclusive();
  }
}

TEST_F(PageLoaderTest, APageThatSomebodyHasIsNotReadASecondTime) {
  Result<Frame*> first = loader_->Load(PoolFixture::Id(3), FixHint::kNormal);
  ASSERT_TRUE(first.ok());
  const uint64_t reads = page_reads_;
  // Also while it is still latched by the one who reads it: nobody waits here.
  EXPECT_TRUE(loader_->Load(PoolFixture::Id(3), FixHint::kNormal).status().Is(Code::kRestart));
  EXPECT_TRUE(loader_->LoadNew(PoolFixture::Id(3)).status().Is(Code::kRestart));
  EXPECT_EQ(page_reads_, reads);
  EXPECT_EQ(frames_->free_frames(), kFrames - 1);
  (*first)->latch.UnlockExclusive();
}

TEST_F(PageLoaderTest, WhatDoesNotExistIsNotFoundAndTakesNoFrame) {
  const PageId nothing;
  EXPECT_TRUE(loader_->Load(nothing, FixHint::kNormal).status().Is(Code::kNotFound));
  ASSERT_TRUE(fixture_.files().Drop(PoolFixture::kSpace).ok());
  const PageId id = PoolFixture::Id(3);
  EXPECT_TRUE(loader_->Load(id, FixHint::kNormal).status().Is(Code::kNotFound));
  EXPECT_TRUE(loader_->LoadNew(id).status().Is(Code::kNotFound));
  ExpectNothingLeft(id);
}

TEST_F(PageLoaderTest, APageThatIsMadeAnewIsNotRead) {
  Damage(3);
  const uint64_t reads = page_reads_;
  Result<Frame*> frame = loader_->LoadNew(PoolFixture::Id(3));
  ASSERT_TRUE(frame.ok());
  EXPECT_TRUE((*frame)->latch.IsLockedExclusive());
  EXPECT_EQ((*frame)->state.load(), FrameState::kResident);
  EXPECT_EQ(page_reads_, reads);
  (*frame)->latch.UnlockExclusive();
}

TEST_F(PageLoaderTest, DamageIsReportedUnlessTheReaderIsNotSureOfThePage) {
  Damage(3);
  const uint32_t behind = 10'000;
  for (const auto& [page, what] : std::vector<std::pair<uint32_t, const char*>>{
           {3, "is damaged: "}, {behind, "it lies beyond the end of the file"}}) {
    for (const FixHint hint :
         {FixHint::kNormal, FixHint::kScan, FixHint::kSpeculative, FixHint::kSpeculativeScan}) {
      const LogCapture log;
      const Status status = loader_->Load(PoolFixture::Id(page), hint).status();
      EXPECT_TRUE(status.Is(Code::kCorrupt)) << status.message();
      EXPECT_EQ(status.detail(), page);
      EXPECT_EQ(log.Has("Page " + std::to_string(page) + " of "), !IsSpeculative(hint));
      EXPECT_EQ(log.Has(what), !IsSpeculative(hint)) << log.Text();
      ExpectNothingLeft(PoolFixture::Id(page));
    }
  }
}

TEST_F(PageLoaderTest, AFailedReadIsToldWithPageAndFileAndLeavesThePageForLater) {
  const LogCapture log;
  fs_.Inject({.call = FileCall::kRead, .path_part = "space_"});
  const Status status = loader_->Load(PoolFixture::Id(3), FixHint::kSpeculative).status();
  EXPECT_TRUE(status.Is(Code::kIoError)) << status.message();
  EXPECT_TRUE(log.Has("Reading page 3 of " + fixture_.files().PathOf(PoolFixture::kSpace)));
  ExpectNothingLeft(PoolFixture::Id(3));
  Result<Frame*> frame = loader_->Load(PoolFixture::Id(3), FixHint::kNormal);
  ASSERT_TRUE(frame.ok());
  (*frame)->latch.UnlockExclusive();
}

}  // namespace
}  // namespace rowan
