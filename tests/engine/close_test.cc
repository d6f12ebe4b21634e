// SPDX-License-Identifier: GPL-2.0-only
// A close with a time limit: what is not written is in the log, nothing is lost.
#include <gtest/gtest.h>

#include "tests/engine/engine_fixture.h"
#include "tests/support/log_capture.h"

namespace rowan::close_test {
namespace {

constexpr uint64_t kRows = 4000;

class CloseTest : public testing::Test {
 protected:
  CloseTest() : world_(TestSeed()) {
    world_.options.storage.log.capacity_bytes = uint64_t{32} << 20;
    world_.options.storage.buffer.pool_bytes = uint64_t{32} << 20;
    world_.options.storage.background = false;  // every page stays dirty
  }

  /// Commits rows that fill a few hundred pages.
  void Fill() {
    ASSERT_TRUE(world_.Open().ok());
    const std::shared_ptr<Table> table = world_.CreateTable("test/close");
    ASSERT_NE(table, nullptr);
    table_ = table->id();
    rows_ = world_.Fill(table.get(), kRows, [](uint64_t id) {
      return ToyRow{static_cast<uint32_t>(id % 7), static_cast<uint32_t>(id),
                    std::string(900, static_cast<char>('a' + id % 26))};
    });
  }

  EngineFixture world_;
  TableId table_;
  ToyRows rows_;
};

TEST_F(CloseTest, WithoutTimeLeavesTheRestToTheLog) {
  ASSERT_NO_FATAL_FAILURE(Fill());
  {
    const LogCapture log;
    EXPECT_TRUE(world_.engine->Close(1).ok());
    EXPECT_TRUE(log.Has("time for the shutdown was over")) << log.Text();
  }
  world_.engine.reset();
  // The process is gone and the machine stays up, or not: either is as good.
  world_.files.Crash(TestSeed());
  const LogCapture log;
  ASSERT_TRUE(world_.Open().ok());
  EXPECT_TRUE(log.Has("Crash recovery")) << log.Text();
  world_.ExpectTable(table_, rows_);
  EXPECT_TRUE(world_.Shutdown().ok());
}

TEST_F(CloseTest, WithTimeIsClean) {
  ASSERT_NO_FATAL_FAILURE(Fill());
  EXPECT_TRUE(world_.engine->Close(uint64_t{1} << 40).ok());
  world_.engine.reset();
  const LogCapture log;
  ASSERT_TRUE(world_.Open().ok());
  EXPECT_FALSE(log.Has("Crash recovery")) << log.Text();
  world_.ExpectTable(table_, rows_);
  EXPECT_TRUE(world_.Shutdown().ok());
}

}  // namespace
}  // namespace rowan::close_test
