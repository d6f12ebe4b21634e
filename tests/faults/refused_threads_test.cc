// SPDX-License-Identifier: GPL-2.0-only
// A system that allows no further thread: a start fails with a sentence or goes on without it, the
// process lives, and the next start finds everything.
#include "tests/faults/refused_threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <functional>
#include <memory>
#include <thread>

#include "base/start_thread.h"
#include "base/workers.h"
#include "tests/engine/engine_fixture.h"
#include "tests/support/log_capture.h"

namespace rowan::faults {
namespace {

constexpr uint64_t kRowsOfTheTable = 300;
constexpr uint64_t kThreadsMax = 100;  ///< more than any start has

ToyRow RowOfTheTable(uint64_t id) {
  return {static_cast<uint32_t>(id % 7), static_cast<uint32_t>(id), std::string(id % 300, 't')};
}

class RefusedThreadsTest : public testing::Test {
 protected:
  RefusedThreadsTest() : world_(TestSeed()) {
    EXPECT_TRUE(world_.Open().ok());
    const std::shared_ptr<Table> table = world_.CreateTable("test/threads");
    table_ = table->id();
    rows_ = world_.Fill(table.get(), kRowsOfTheTable, RowOfTheTable);
  }

  /// Starts until none of its threads is refused, each time without one more of them; `end` ends
  /// the instance.
  void RefuseEachThreadOfAStart(bool lasting, const std::function<void()>& end) {
    uint64_t failed = 0;
    uint64_t went_on = 0;
    for (uint64_t nth = 1; nth < kThreadsMax; ++nth) {
      SCOPED_TRACE(nth);
      end();
      Status status;
      uint64_t refused = 0;
      {
        const RefusedThreads refusal(nth, lasting);
        status = world_.Open();
        refused = refusal.refused();
        if (!status.ok()) {
          EXPECT_EQ(status.code(), Code::kBusy);
          EXPECT_STREQ(status.message(), "the system allows no further thread");
        }
      }
      EXPECT_TRUE(status.ok() || refused != 0);
      if (!status.ok()) {
        ASSERT_TRUE(world_.Open().ok());
      }
      world_.ExpectTable(table_, rows_);
      if (refused == 0) {
        std::printf("starts without a thread: %lu failed, %lu went on\n", failed, went_on);
        EXPECT_GT(failed, 0U);
        return;
      }
      ++(status.ok() ? went_on : failed);
    }
    FAIL() << "a start with more than " << kThreadsMax << " threads";
  }

  LogCapture log_;  // of the failures
  EngineFixture world_;
  TableId table_{0};
  ToyRows rows_;
};

TEST_F(RefusedThreadsTest, AStartFailsAndTheNextSucceeds) {
  RefuseEachThreadOfAStart(false, [this] { ASSERT_TRUE(world_.Shutdown().ok()); });
}

TEST_F(RefusedThreadsTest, AStartAfterACrashFailsAndTheNextSucceeds) {
  uint64_t seed = TestSeed();
  RefuseEachThreadOfAStart(false, [&] { world_.Crash(++seed); });
}

TEST_F(RefusedThreadsTest, AStartThatGetsNoFurtherThreadFails) {
  uint64_t seed = TestSeed();
  RefuseEachThreadOfAStart(true, [&] { world_.Crash(++seed); });
}

TEST_F(RefusedThreadsTest, ABackupFailsAndTheNextSucceeds) {
  {
    const RefusedThreads refusal(1, true);
    const Result<std::unique_ptr<Backup>> backup =
        world_.engine->BeginBackup({.folder = "/one", .base = {}});
    EXPECT_TRUE(backup.status().Is(Code::kBusy)) << backup.status().message();
    EXPECT_GT(refusal.refused(), 0U);
  }
  Result<std::unique_ptr<Backup>> backup =
      world_.engine->BeginBackup({.folder = "/two", .base = {}});
  ASSERT_TRUE(backup.ok()) << backup.status().message();
  EXPECT_TRUE((*backup)->Finish(kNoLsn).ok());
}

TEST(RefusedWorkersTest, ThoseThatAreThereDoTheWork) {
  for (uint64_t nth = 1; nth <= 4; ++nth) {
    const RefusedThreads refusal(nth, true);
    std::atomic<uint32_t> came{0};
    Workers workers("test-", 4);
    EXPECT_TRUE(workers
                    .Run([&](uint32_t) {
                      ++came;
                      return Status::Ok();
                    })
                    .ok());
    EXPECT_EQ(came.load(), nth);
    EXPECT_EQ(refusal.refused(), nth == 4 ? 0U : 1U);
  }
}

TEST(StartThreadTest, ARefusalIsAStatusWithItsReason) {
  const RefusedThreads refusal(1);
  const Status refused = StartThread([] {}).status();
  EXPECT_TRUE(refused.Is(Code::kBusy));
  EXPECT_EQ(refused.detail(), static_cast<uint32_t>(EAGAIN));
  Result<std::thread> thread = StartThread([] {});
  ASSERT_TRUE(thread.ok());
  thread->join();
}

}  // namespace
}  // namespace rowan::faults
