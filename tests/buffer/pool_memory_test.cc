// SPDX-License-Identifier: GPL-2.0-only
// Pools larger than the memory of a machine that is told to be small, and pools that nobody uses.
#include "buffer/pool_memory.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <vector>

#include "buffer/frame_table.h"
#include "tests/buffer/pool_fixture.h"
#include "tests/support/fault_file_system.h"
#include "tests/support/log_capture.h"

namespace rowan {
namespace {

MachineMemory g_memory;
MachineMemory SmallMemory() { return g_memory; }

uint64_t ResidentBytes() {
  std::ifstream stream("/proc/self/statm");
  uint64_t total = 0;
  uint64_t resident = 0;
  stream >> total >> resident;
  return resident * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

class PoolMemoryTest : public ::testing::Test {
 protected:
  void SetUp() override { g_memory = {.machine_bytes = uint64_t{2000} * TestPageSizeBytes()}; }
  Status Open(uint64_t pages) {
    fixture_ = std::make_unique<PoolFixture>(
        &files_,
        PoolFixture::Options{.pool_pages = static_cast<uint32_t>(pages), .memory = SmallMemory});
    return fixture_->StorageFixture::Create();
  }
  Status Resize(uint64_t pages) { return fixture_->pool().Resize(pages * TestPageSizeBytes()); }

  LogCapture log_;
  FaultFileSystem files_{1};
  std::unique_ptr<PoolFixture> fixture_;
};

TEST_F(PoolMemoryTest, APoolThatFitsIsNotTalkedAbout) {
  ASSERT_TRUE(Open(1900).ok());
  EXPECT_FALSE(log_.Has("rowan_buffer_pool_size"));
}

TEST_F(PoolMemoryTest, APoolBeyondTheMemoryIsWarnedAbout) {
  ASSERT_TRUE(Open(3000).ok());
  EXPECT_TRUE(log_.Has("is more than there is: the machine has")) << log_.Text();
}

TEST_F(PoolMemoryTest, TheLimitOfTheControlGroupCounts) {
  g_memory.group_bytes = uint64_t{1000} * TestPageSizeBytes();
  ASSERT_TRUE(Open(1500).ok());
  EXPECT_TRUE(log_.Has("the control group of the process may take")) << log_.Text();
}

TEST_F(PoolMemoryTest, APoolWhoseDescriptorsDoNotFitIsRefused) {
  const uint64_t most = PoolBytesMax(TestPageSizeBytes(), g_memory) / TestPageSizeBytes();
  EXPECT_TRUE(Open(most + 1).Is(Code::kInvalidArgument));
  EXPECT_TRUE(log_.Has("is refused: the descriptors of its pages alone would take")) << log_.Text();
  log_.Clear();
  ASSERT_TRUE(Open(most).ok());
  EXPECT_TRUE(log_.Has("is more than there is"));
}

TEST_F(PoolMemoryTest, AResizeIsJudgedAsAStart) {
  const uint64_t most = PoolBytesMax(TestPageSizeBytes(), g_memory) / TestPageSizeBytes();
  ASSERT_TRUE(Open(100).ok());
  EXPECT_TRUE(Resize(1900).ok());
  EXPECT_FALSE(log_.Has("rowan_buffer_pool_size"));
  EXPECT_TRUE(Resize(3000).ok());
  EXPECT_TRUE(log_.Has("is more than there is"));
  log_.Clear();
  EXPECT_TRUE(Resize(most + 1).Is(Code::kInvalidArgument));
  EXPECT_TRUE(log_.Has("is refused"));
  log_.Clear();
  EXPECT_TRUE(Resize(2500).ok()) << "smaller than before";
  EXPECT_FALSE(log_.Has("rowan_buffer_pool_size"));
  EXPECT_TRUE(Resize(most).ok());
}

TEST(UnusedPool, TakesMemoryWithTheFramesThatAreUsed) {
  constexpr uint32_t kPageSize = 4096;
  constexpr uint32_t kFrames = 1 << 20;
  constexpr uint64_t kDescriptorBytes = uint64_t{kFrames} * (64 + 32 + 16);
  const uint64_t before = ResidentBytes();
  Result<std::unique_ptr<FrameArena>> arena = FrameArena::Create(kPageSize, kFrames, kFrames);
  ASSERT_TRUE(arena.ok());
  FrameTable frames(std::move(*arena));
  EXPECT_EQ(frames.free_frames(), kFrames);
  std::vector<Frame*> claimed;
  for (uint32_t i = 0; i < 100; ++i) claimed.push_back(frames.Claim());
  EXPECT_EQ(frames.frames_used(), 100u);
  EXPECT_EQ(frames.free_frames(), kFrames - 100);
  for (Frame* frame : claimed) frames.Free(frame);
  EXPECT_EQ(frames.free_frames(), kFrames);
  // The same ones are used again, not others.
  frames.Free(frames.Claim());
  EXPECT_EQ(frames.frames_used(), 100u);
  // Huge pages are taken whole.
  EXPECT_LT(ResidentBytes() - before, kDescriptorBytes / 4);
}

TEST(UnusedPool, FramesBehindALoweredLimitAreNotHandedOut) {
  constexpr uint32_t kPageSize = 4096;
  Result<std::unique_ptr<FrameArena>> arena = FrameArena::Create(kPageSize, 32, 64);
  ASSERT_TRUE(arena.ok());
  FrameTable frames(std::move(*arena));
  Frame* first = frames.Claim();
  frames.LowerLimit(16);
  std::vector<Frame*> rest;
  while (Frame* frame = frames.Claim()) rest.push_back(frame);
  EXPECT_EQ(rest.size(), 15u);
  ASSERT_TRUE(frames.Grow(64).ok());
  frames.EnlargeTable(64);
  frames.RaiseLimit(64);
  EXPECT_EQ(frames.free_frames(), 48u);
  while (Frame* frame = frames.Claim()) rest.push_back(frame);
  EXPECT_EQ(rest.size(), 63u);
  frames.Free(first);
  for (Frame* frame : rest) frames.Free(frame);
  EXPECT_EQ(frames.free_frames(), 64u);
}

}  // namespace
}  // namespace rowan
