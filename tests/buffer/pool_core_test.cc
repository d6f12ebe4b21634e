// SPDX-License-Identifier: GPL-2.0-only
// A frame's life at the border of a pool that changes its size.
#include "buffer/pool_core.h"

#include <gtest/gtest.h>

#include <vector>

namespace rowan {
namespace {

constexpr uint32_t kPageSize = 4096;
constexpr uint32_t kSmall = 16;
constexpr uint32_t kLarge = 24;

TEST(PoolCoreTest, AFrameFreedWhileThePoolGrowsIsNotLost) {
  BufferOptions options;
  options.page_size_bytes = kPageSize;
  Result<std::unique_ptr<FrameArena>> arena = FrameArena::Create(kPageSize, kLarge, kLarge);
  ASSERT_TRUE(arena.ok());
  PoolCore core(options, nullptr, nullptr, nullptr, nullptr, std::move(*arena));
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

}  // namespace
}  // namespace rowan
