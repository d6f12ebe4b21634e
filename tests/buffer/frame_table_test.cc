// SPDX-License-Identifier: GPL-2.0-only
// A frame's life at the border of a pool that changes its size.
#include "buffer/frame_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <set>
#include <thread>
#include <utility>
#include <vector>

namespace rowan {

constexpr uint32_t kPageSize = 4096;
constexpr uint32_t kSmall = 16;
constexpr uint32_t kLarge = 24;

class FrameTableTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Result<std::unique_ptr<FrameArena>> arena = FrameArena::Create(kPageSize, kLarge, kLarge);
    ASSERT_TRUE(arena.ok());
    frames_ = std::make_unique<FrameTable>(std::move(*arena));
  }
  [[nodiscard]] std::array<const void*, 5> HotWords() const {
    return {&frames_->limit_, &frames_->dirty_frames_, &frames_->clock_hand_,
            &frames_->want_clean_frames_, &frames_->table_};
  }

  std::unique_ptr<FrameTable> frames_;
};

namespace {

TEST_F(FrameTableTest, AFrameFreedWhileThePoolGrowsIsNotLost) {
  // Between the look at the limit and the frame's new state the pool grows.
  std::vector<Frame*> all;
  while (Frame* frame = frames_->Claim()) all.push_back(frame);
  ASSERT_EQ(all.size(), kLarge);
  frames_->LowerLimit(kSmall);
  Frame* late = nullptr;
  for (Frame* frame : all) {
    if (frame->number == kSmall + 1) {
      late = frame;
    } else {
      frames_->Free(frame);
    }
  }
  ASSERT_NE(late, nullptr);
  frames_->RaiseLimit(kLarge);
  frames_->Retire(late);
  EXPECT_EQ(frames_->free_frames(), kLarge);
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
TEST_F(FrameTableTest, HotWordsHaveCacheLinesOfTheirOwn) {
  const std::array<const void*, 5> words = HotWords();
  std::set<uintptr_t> lines;
  for (const void* word : words) lines.insert(reinterpret_cast<uintptr_t>(word) / 64);
  EXPECT_EQ(lines.size(), words.size());
}

}  // namespace
}  // namespace rowan
