// SPDX-License-Identifier: GPL-2.0-only
// A frame's life at the border of a pool that changes its size.
#include "buffer/pool_core.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <thread>
#include <vector>

namespace rowan {
namespace {

constexpr uint32_t kPageSize = 4096;
constexpr uint32_t kSmall = 16;
constexpr uint32_t kLarge = 24;

TEST(PoolCoreTest, AFrameFreedWhileThePoolGrowsIsNotLost) {
  Result<std::unique_ptr<FrameArena>> arena = FrameArena::Create(kPageSize, kLarge, kLarge);
  ASSERT_TRUE(arena.ok());
  PoolCore core(BufferOptions{}, nullptr, nullptr, nullptr, nullptr, std::move(*arena));
  core.EnlargeTable(kLarge);
  core.RaiseLimit(kLarge);
  // Between the look at the limit and the frame's new state the pool grows.
  std::vector<Frame*> all;
  while (Frame* frame = core.Claim()) all.push_back(frame);
  ASSERT_EQ(all.size(), kLarge);
  core.frame_limit.store(kSmall);
  Frame* late = nullptr;
  for (Frame* frame : all) {
    if (frame->number == kSmall + 1) {
      late = frame;
    } else {
      core.Free(frame);
    }
  }
  ASSERT_NE(late, nullptr);
  core.RaiseLimit(kLarge);
  core.Retire(late);
  EXPECT_EQ(core.free_list.size(), kLarge);
}

TEST(ClockHandTest, ThreadsShareTheFramesWithoutPassingOverAny) {
  constexpr uint32_t kFrames = 1 << 20;
  constexpr size_t kThreads = 4;
  constexpr size_t kSteps = 50'001;  // ends inside a run
  ClockHand hand;
  std::vector<std::vector<uint32_t>> seen(kThreads);
  std::vector<std::thread> threads;
  for (std::vector<uint32_t>& mine : seen) {
    threads.emplace_back([&] {
      while (mine.size() < kSteps) mine.push_back(hand.Step(kFrames));
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<uint32_t> all;
  for (const std::vector<uint32_t>& mine : seen) all.insert(all.end(), mine.begin(), mine.end());
  std::sort(all.begin(), all.end());
  EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end()) << "a frame was given out twice";
  // What is missing was left in the last run of each thread.
  EXPECT_EQ(hand.position() - all.size(), kThreads * (ClockHand::RunFrames(kFrames) - 1));
}

TEST(ClockHandTest, AThreadGoesOnInItsRun) {
  constexpr uint32_t kFrames = 1 << 20;
  ClockHand hand;
  EXPECT_EQ(hand.Step(kFrames), 0u);
  std::thread([&] { EXPECT_EQ(hand.Step(kFrames), ClockHand::RunFrames(kFrames)); }).join();
  EXPECT_EQ(hand.Step(kFrames), 1u);
}

TEST(ClockHandTest, ASmallPoolIsWalkedFrameByFrame) {
  ClockHand hand;
  for (uint32_t step = 0; step < 200; ++step) {
    ASSERT_EQ(hand.Step(64), step % 64);
    ASSERT_EQ(hand.position(), step + 1);
  }
}

// What each fix reads must not lie beside what each eviction, miss or change writes.
TEST(PoolCoreTest, HotWordsHaveCacheLinesOfTheirOwn) {
  Result<std::unique_ptr<FrameArena>> arena = FrameArena::Create(kPageSize, kLarge, kLarge);
  ASSERT_TRUE(arena.ok());
  const PoolCore core(BufferOptions{}, nullptr, nullptr, nullptr, nullptr, std::move(*arena));
  const std::array<const void*, 4> words = {&core.frame_limit, &core.dirty_frames, &core.clock_hand,
                                            &core.want_clean_frames};
  std::set<uintptr_t> lines;
  for (const void* word : words) lines.insert(reinterpret_cast<uintptr_t>(word) / 64);
  EXPECT_EQ(lines.size(), words.size());
}

}  // namespace
}  // namespace rowan
