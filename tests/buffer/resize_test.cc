// SPDX-License-Identifier: GPL-2.0-only
// What follows the size of a pool that is resized while it is used, and what does not grow with it.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "base/random.h"
#include "buffer/checkpoint.h"
#include "buffer/frame_table.h"
#include "buffer/mini_txn_limiter.h"
#include "buffer/page_files.h"
#include "tests/buffer/pool_fixture.h"
#include "tests/support/fault_file_system.h"

namespace rowan::resize_test {
namespace {

constexpr uint32_t kPageSize = 4096;

std::unique_ptr<FrameTable> MakeFrames(uint32_t frames, uint32_t frames_max) {
  Result<std::unique_ptr<FrameArena>> arena = FrameArena::Create(kPageSize, frames, frames_max);
  EXPECT_TRUE(arena.ok());
  return std::make_unique<FrameTable>(std::move(*arena));
}

TEST(Resize, GrowingInManyStepsKeepsFewPageTables) {
  constexpr uint32_t kLast = 100'000;
  const auto table = MakeFrames(1000, kLast);
  for (uint32_t frames = 2000; frames <= kLast; frames += 1000) {
    table->EnlargeTable(frames);
    ASSERT_TRUE(table->Grow(frames).ok());
    EXPECT_LE(table->TableEntries(), 4 * uint64_t{frames});
  }
  EXPECT_LE(table->TableEntries(), 3 * uint64_t{kLast})
      << "all steps together had 50 times as many";
}

TEST(Resize, CheckpointShardsStayFewAndSayWhatTheySaidBefore) {
  constexpr uint32_t kLast = 300'000;
  const auto table = MakeFrames(64, kLast);
  PageFiles files(BufferOptions{}, nullptr, nullptr, nullptr, nullptr);
  Checkpointer checkpointer(table.get(), &files, Lsn(1000));
  EXPECT_EQ(checkpointer.Candidate(), Lsn(1000));
  for (uint32_t frames = 64; frames < kLast; frames *= 2) {
    const uint32_t larger = std::min(2 * frames, kLast);
    checkpointer.NoteGrowth(frames, larger);
    ASSERT_TRUE(table->Grow(larger).ok());
    EXPECT_LE(checkpointer.shard_count(), 512u);
    EXPECT_EQ(checkpointer.Candidate(), Lsn(1000)) << larger;
  }
  // Discards of the last frame still find their shard.
  checkpointer.NoteDiscard(table->frame(kLast - 1), Lsn(5));
}

TEST(Resize, TheGateFollowsAndLetsThoseInsideLeave) {
  MiniTxnLimiter gate(24);  // two at a time
  gate.Enter();
  std::thread second([&] {
    gate.Enter();
    std::thread third([&] {
      gate.Enter();  // waits until the gate is off
      gate.Leave();
    });
    gate.Resize(100'000);
    third.join();
    gate.Leave();
  });
  second.join();
  gate.Resize(24);
  gate.Enter();  // nested
  gate.Leave();
  gate.Leave();
  // Entered with the gate off, left with it on: nobody is counted who is not inside.
  gate.Resize(100'000);
  gate.Enter();
  gate.Resize(24);
  gate.Leave();
  for (int i = 0; i < 3; ++i) {
    std::thread([&] {
      gate.Enter();
      gate.Leave();
    }).join();
  }
}

TEST(Resize, NothingIsLostWhileThePoolGrowsAThousandfoldAndShrinksAgain) {
  constexpr uint32_t kPages = 200;
  FaultFileSystem fs(TestSeed());
  PoolFixture fixture(&fs,
                      {.pool_pages = 48, .background = true, .cleaners = 2, .space_pages = kPages});
  fixture.Create();
  std::vector<std::atomic<uint64_t>> sums(kPages);
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      Random random(TestSeed() + t);
      while (!stop) {
        const auto page = static_cast<uint32_t>(random.Between(1, kPages - 1));
        ASSERT_TRUE(fixture.Add(page, 1).ok());
        ++sums[page];
      }
    });
  }
  const uint64_t page_size = TestPageSizeBytes();
  for (uint64_t frames = 64; frames <= 48 * 1024; frames *= 4) {
    ASSERT_TRUE(fixture.pool().Resize(frames * page_size).ok());
    ASSERT_TRUE(fixture.pool().FlushAndCheckpoint().ok());
  }
  const Status shrunk = fixture.pool().Resize(64 * page_size);
  EXPECT_TRUE(shrunk.ok() || shrunk.Is(Code::kBusy));
  stop = true;
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(fixture.log().WaitDurable(fixture.log().tail()).ok());
  ASSERT_TRUE(fixture.Start().ok());
  for (uint32_t page = 1; page < kPages; ++page) {
    ASSERT_EQ(fixture.Read(page).value(), sums[page].load()) << page;
  }
}

TEST(Resize, PagesOfADroppedSpaceAreFreedByNumberOrBySearch) {
  for (const uint32_t pages_max : {64u, UINT32_MAX}) {
    FaultFileSystem fs(TestSeed());
    PoolFixture fixture(&fs, {.pool_pages = 128, .space_pages = 64});
    fixture.Create();
    ASSERT_TRUE(fixture.Start().ok());  // no page of another space is in the pool
    for (uint32_t page = 1; page < 64; ++page) ASSERT_TRUE(fixture.Add(page, 1).ok());
    ASSERT_TRUE(fixture.files().Drop(PoolFixture::kSpace).ok());
    fixture.pool().ForgetSpace(PoolFixture::kSpace, pages_max);
    EXPECT_EQ(fixture.pool().Statistics().dirty_frames, 0u);
    EXPECT_EQ(fixture.pool().Statistics().free_frames, fixture.pool().Statistics().frames);
  }
}

}  // namespace
}  // namespace rowan::resize_test
