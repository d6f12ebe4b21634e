// SPDX-License-Identifier: GPL-2.0-only
// Reading ahead: which requests count, and that whatever goes wrong is left to the session that
// asks for the page.
#include "buffer/read_ahead.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "base/counters.h"
#include "tests/buffer/pool_parts.h"
#include "tests/support/await.h"
#include "tests/support/log_capture.h"

namespace rowan {
namespace {

class ReadAheadTest : public PoolParts {
 protected:
  ReadAheadTest() : PoolParts(true) {}
  void SetUp() override {
    PoolParts::SetUp();
    read_ahead_ = std::make_unique<ReadAhead>(frames_.get(), page_files_.get(), supply_.get());
  }
  void TearDown() override {
    read_ahead_->Stop();
    PoolParts::TearDown();
  }
  void Request(const std::vector<uint32_t>& pages) {
    std::vector<PageId> ids;
    for (const uint32_t page : pages) ids.push_back(PoolFixture::Id(page));
    read_ahead_->Request(ids);
  }
  /// Requests are served in their order, so those before this one have been.
  void RequestAndAwait(uint32_t page) {
    Request({page});
    ASSERT_TRUE(Await([&] { return IsResident(page) && StateOf(page) == FrameState::kResident; }));
  }
  FrameState StateOf(uint32_t page) { return FrameOf(page)->state.load(std::memory_order_acquire); }
  Frame* FrameOf(uint32_t page) {
    return frames_->frame(frames_->Lookup(PoolFixture::Id(page).Packed()));
  }

  std::unique_ptr<ReadAhead> read_ahead_;
};

TEST_F(ReadAheadTest, PagesComeInCleanUnlatchedAndFirstToGo) {
  ASSERT_TRUE(read_ahead_->Start().ok());
  const uint64_t before = ReadCounter(Counter::kPagesReadAhead);
  Request({3, 4, 5});
  ASSERT_NO_FATAL_FAILURE(RequestAndAwait(6));
  read_ahead_->Stop();
  EXPECT_EQ(ReadCounter(Counter::kPagesReadAhead), before + 4);
  for (const uint32_t page : {3u, 4u, 5u, 6u}) {
    ASSERT_TRUE(IsResident(page));
    Frame* frame = FrameOf(page);
    EXPECT_EQ(frame->usage.load(), kUsageScan);
    EXPECT_EQ(frame->FirstDirtyLsn(), kNoLsn);
    ASSERT_TRUE(frame->latch.TryLockExclusive());
    EXPECT_TRUE(EqualBytes(frames_->PageOf(frame), fixture_.ReadHome(page)));
    frame->latch.UnlockExclusive();
  }
}

TEST_F(ReadAheadTest, RequestsBeforeTheStartAndAfterTheEndAreForgotten) {
  Request({3});
  ASSERT_TRUE(read_ahead_->Start().ok());
  ASSERT_NO_FATAL_FAILURE(RequestAndAwait(4));
  EXPECT_FALSE(IsResident(3));
  read_ahead_->Stop();
  Request({5});
  ASSERT_TRUE(read_ahead_->Start().ok());
  ASSERT_NO_FATAL_FAILURE(RequestAndAwait(6));
  EXPECT_FALSE(IsResident(5));
}

TEST_F(ReadAheadTest, WhatCannotBeReadIsPassedOverInSilence) {
  const LogCapture log;
  std::vector<std::byte> image = fixture_.ReadHome(3);
  image[100] ^= std::byte{1};
  fixture_.WriteHome(3, image);
  ASSERT_TRUE(read_ahead_->Start().ok());
  const PageId nowhere[] = {PageId{}, {SpaceId(999), PageNumber(1)}};
  read_ahead_->Request(nowhere);
  Request({3, 4});
  // Behind the end of the file; two at a time are read, and the last one by itself.
  Request({10'000, 5});
  ASSERT_NO_FATAL_FAILURE(RequestAndAwait(6));
  read_ahead_->Stop();
  EXPECT_FALSE(IsResident(3));
  EXPECT_TRUE(IsResident(4));
  EXPECT_FALSE(IsResident(10'000));
  EXPECT_EQ(frames_->free_frames(), kFrames - 2) << "the frames of the others are free again";
  EXPECT_EQ(log.Text(), "");
  // The session that asks for the page is told.
  EXPECT_TRUE(loader_->Load(PoolFixture::Id(3), FixHint::kNormal).status().Is(Code::kCorrupt));
}

TEST_F(ReadAheadTest, AfterAFailedReadNoPageReadWithItIsBelieved) {
  const LogCapture log;
  std::promise<void> go_on;
  std::shared_future<void> may_go_on(go_on.get_future());
  std::atomic<uint32_t> reads{0};
  hooked_.SetReadHook([&](const std::string& path, Bytes) {
    if (IsOfPages(path) && reads++ == 0) may_go_on.wait();
  });
  ASSERT_TRUE(read_ahead_->Start().ok());
  Request({3});
  ASSERT_TRUE(Await([&] { return reads == 1; }));
  // Both in the next unit; the third read altogether fails.
  Request({4, 5});
  fs_.Inject({.call = FileCall::kRead, .path_part = "space_", .nth_call = 3});
  go_on.set_value();
  ASSERT_NO_FATAL_FAILURE(RequestAndAwait(6));
  read_ahead_->Stop();
  EXPECT_TRUE(IsResident(3));
  EXPECT_FALSE(IsResident(4));
  EXPECT_FALSE(IsResident(5));
  EXPECT_EQ(fs_.FaultsMet(), 1u);
  EXPECT_EQ(log.Text(), "");
  EXPECT_FALSE(fixture_.log().stopped());
}

TEST_F(ReadAheadTest, OnlyAnEighthOfTheFramesIsReadAtATime) {
  std::atomic<uint32_t> most{0};
  hooked_.SetReadHook([&](const std::string&, Bytes) {
    uint32_t loading = 0;
    for (uint32_t i = 0; i < kFrames; ++i) {
      const Frame* frame = frames_->frame(i);
      loading += frame->page_id.load() != 0 && frame->state.load() == FrameState::kLoading;
    }
    if (loading > most) most = loading;
  });
  ASSERT_TRUE(read_ahead_->Start().ok());
  Request({1, 2, 3, 4, 5, 6, 7, 8, 9});
  ASSERT_NO_FATAL_FAILURE(RequestAndAwait(10));
  read_ahead_->Stop();
  EXPECT_LE(most, kFrames / 8);
  EXPECT_GT(most, 0u);
}

TEST_F(ReadAheadTest, NoPageInUseAndNoDirtyPageGoesForOneReadAhead) {
  for (Frame* frame : NewPages(20, kFrames)) Change(frame);
  CountPageIo();
  ASSERT_TRUE(read_ahead_->Start().ok());
  Request({3, 4, 5});
  // Served when there is room again: behind those that found none.
  ASSERT_TRUE(Await([&] { return frames_->TakeWantCleanFrames(); }));
  EXPECT_EQ(page_writes_, 0u);
  read_ahead_->Stop();
  EXPECT_EQ(page_reads_, 0u);
  EXPECT_EQ(frames_->dirty_frames(), kFrames);
}

/// A file with more pages than the queue takes.
TEST_F(ReadAheadTest, RequestsBeyondAFullQueueAreForgotten) {
  constexpr uint32_t kQueuePages = 1024;
  constexpr SpaceId kLarge{77};
  ASSERT_TRUE(fixture_.files().Create(kLarge, 2 * kQueuePages).ok());
  std::promise<void> go_on;
  std::shared_future<void> may_go_on(go_on.get_future());
  std::atomic<uint32_t> reads{0};
  hooked_.SetReadHook([&](const std::string& path, Bytes) {
    if (IsOfPages(path) && reads++ == 0) may_go_on.wait();
  });
  ASSERT_TRUE(read_ahead_->Start().ok());
  Request({3});
  ASSERT_TRUE(Await([&] { return reads == 1; }));
  std::vector<PageId> many;
  for (uint32_t page = 0; page < kQueuePages + 400; ++page) {
    many.push_back({kLarge, PageNumber(page)});  // zeros: read, and not kept
  }
  read_ahead_->Request(many);
  go_on.set_value();
  ASSERT_TRUE(Await([&] { return reads == 1 + kQueuePages; }));
  ASSERT_NO_FATAL_FAILURE(RequestAndAwait(4));
  EXPECT_EQ(reads, 1 + kQueuePages + 1);
}

}  // namespace
}  // namespace rowan
