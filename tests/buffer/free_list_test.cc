// SPDX-License-Identifier: GPL-2.0-only
// The stack of free frames, and the memory that its frames are in.
#include "buffer/free_list.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "base/bytes.h"
#include "base/random.h"
#include "tests/support/test_settings.h"

namespace rowan {
namespace {

std::unique_ptr<FrameArena> MakeArena(uint32_t frames, uint32_t frames_max) {
  Result<std::unique_ptr<FrameArena>> arena =
      FrameArena::Create(TestPageSizeBytes(), frames, frames_max);
  EXPECT_TRUE(arena.ok());
  std::unique_ptr<FrameArena> made = std::move(arena).value();
  for (uint32_t i = 0; i < frames; ++i) made->frame(i)->number = i;
  return made;
}

TEST(FreeListTest, IsAStack) {
  Random random(TestSeed());
  const auto arena = MakeArena(64, 64);
  FreeList list(arena.get());
  std::vector<Frame*> model;
  std::vector<Frame*> outside;
  for (uint32_t i = 0; i < 64; ++i) outside.push_back(arena->frame(i));
  for (int step = 0; step < 2000; ++step) {
    if (random.OneIn(2) && !outside.empty()) {
      list.Push(outside.back());
      model.push_back(outside.back());
      outside.pop_back();
    } else {
      Frame* const frame = list.Pop();
      ASSERT_EQ(frame, model.empty() ? nullptr : model.back());
      if (frame == nullptr) continue;
      model.pop_back();
      outside.push_back(frame);
    }
    ASSERT_EQ(list.size(), model.size());
  }
}

// A frame that comes back between two looks of another thread at the head is what the tag is for.
TEST(FreeListTest, ThreadsNeverHoldOneFrameTwiceAndLoseNone) {
  constexpr uint32_t kFrames = 8;
  const auto arena = MakeArena(kFrames, kFrames);
  FreeList list(arena.get());
  for (uint32_t i = 0; i < kFrames; ++i) list.Push(arena->frame(i));
  std::vector<std::atomic<int>> holders(kFrames);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20000; ++i) {
        Frame* const one = list.Pop();
        Frame* const other = list.Pop();
        for (Frame* const frame : {one, other}) {
          if (frame == nullptr) continue;
          if (holders[frame->number].fetch_add(1) != 0) ++wrong;
          holders[frame->number].fetch_sub(1);
          list.Push(frame);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  uint32_t left = 0;
  while (list.Pop() != nullptr) ++left;
  EXPECT_EQ(left, kFrames);
}

TEST(FrameArenaTest, GrowsAndShrinksWithoutMovingAFrame) {
  constexpr uint32_t kFramesMax = 48;
  const auto arena = MakeArena(16, kFramesMax);
  Random random(TestSeed());
  const uint32_t page_size = TestPageSizeBytes();
  const std::byte* const first = arena->page(0);
  uint32_t frames = 16;
  uint32_t ever = 16;
  for (int step = 0; step < 20; ++step) {
    const auto next = static_cast<uint32_t>(random.Between(1, kFramesMax));
    if (next > frames) {
      ASSERT_TRUE(arena->Grow(next).ok());
      for (uint32_t i = frames; i < next; ++i) {
        ASSERT_TRUE(IsAllZero({arena->page(i), page_size})) << "frame " << i;
        std::memset(arena->page(i), 0xAB, page_size);
      }
    } else {
      arena->Shrink(next);
      for (uint32_t i = next; i < frames; ++i) {
        ASSERT_TRUE(IsAllZero({arena->page(i), page_size})) << "frame " << i << " can be read";
      }
    }
    frames = next;
    ever = std::max(ever, frames);
    ASSERT_EQ(arena->frames_ever(), ever);
    ASSERT_EQ(arena->page(0), first);
    for (uint32_t i = 16; i < frames; ++i) {
      ASSERT_EQ(arena->page(i) - first, static_cast<ptrdiff_t>(uint64_t{i} * page_size));
      ASSERT_EQ(arena->page(i)[page_size - 1], std::byte{0xAB});
    }
  }
}

}  // namespace
}  // namespace rowan
