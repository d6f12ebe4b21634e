// SPDX-License-Identifier: GPL-2.0-only
// The continuous checkpoint at work: the log is given back under pressure and when idle, owners are
// asked first, and hot pages do not hold it up.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "base/random.h"
#include "tests/buffer/hooked_file_system.h"
#include "tests/buffer/pool_fixture.h"
#include "tests/support/await.h"
#include "tests/support/fault_file_system.h"

namespace rowan {
namespace {

TEST(Checkpoint, ALogManyTimesOverwrittenNeverStarvesTheWriters) {
  FaultFileSystem fs(TestSeed());
  PoolFixture fixture(&fs,
                      {.pool_pages = 48, .background = true, .cleaners = 2, .space_pages = 100});
  fixture.Create();
  const uint64_t wanted = 3 * fixture.log().capacity_bytes();
  std::vector<std::atomic<uint64_t>> sums(100);
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      Random random(TestSeed() + t);
      while (fixture.log().tail().value() < wanted) {
        // Half of the changes hit two hot pages.
        const auto page =
            static_cast<uint32_t>(random.OneIn(2) ? 1 + t % 2 : random.Between(1, 99));
        ASSERT_TRUE(fixture.Add(page, 1).ok());
        ++sums[page];
        const PoolStatistics statistics = fixture.pool().Statistics();
        ASSERT_LE(statistics.checkpoint_age_bytes, fixture.log().capacity_bytes());
      }
    });
  }
  for (auto& thread : threads) thread.join();
  fixture.log().WaitDurable(fixture.log().tail()).Ignore();
  ASSERT_TRUE(fixture.Start().ok());
  for (uint32_t page = 1; page < 100; ++page) {
    ASSERT_EQ(fixture.Read(page).value(), sums[page].load()) << page;
  }
}

TEST(Checkpoint, FlushAndCheckpointReachesTheTailWhenNothingElseRuns) {
  FaultFileSystem fs(TestSeed());
  PoolFixture fixture(&fs, {.space_pages = 64});
  fixture.Create();
  for (uint32_t page = 1; page < 64; ++page) ASSERT_TRUE(fixture.Add(page, 1).ok());
  ASSERT_TRUE(fixture.pool().FlushAndCheckpoint().ok());
  EXPECT_EQ(fixture.control().data().checkpoint_lsn, fixture.log().tail());
  EXPECT_EQ(fixture.pool().Statistics().dirty_frames, 0u);
  EXPECT_EQ(fixture.pool().Statistics().checkpoint_age_bytes, 0u);
  ASSERT_TRUE(fixture.Start().ok());
  EXPECT_EQ(fixture.recovered_end(), fixture.control().data().checkpoint_lsn);
  EXPECT_EQ(fixture.Read(5).value(), 1u);
}

TEST(Checkpoint, AnIdlePoolIsWrittenToTheEndOfItsLog) {
  FaultFileSystem fs(TestSeed());
  PoolFixture fixture(&fs, {.background = true, .idle_round_micros = 20'000, .space_pages = 64});
  fixture.Create();
  // Far less than an eighth of the log: to a lazy sweep all of it is young.
  for (uint32_t page = 1; page < 64; ++page) ASSERT_TRUE(fixture.Add(page, 1).ok());
  ASSERT_TRUE(fixture.log().WaitDurable(fixture.log().tail()).ok());
  // A page is clean a moment before it is not counted any more.
  const auto all_written = [&fixture] {
    const PoolStatistics statistics = fixture.pool().Statistics();
    return statistics.checkpoint_age_bytes == 0 && statistics.dirty_frames == 0;
  };
  EXPECT_TRUE(Await(all_written)) << fixture.pool().Statistics().checkpoint_age_bytes
                                  << " bytes would be redone";
}

TEST(Checkpoint, PagesAreCleanedWhileDataFilesAreSynced) {
  FaultFileSystem below(TestSeed());
  HookedFileSystem fs(&below);
  PoolFixture fixture(&fs, {.doublewrite = DoublewriteMode::kOff,
                            .background = true,
                            .idle_round_micros = 20'000,
                            .space_pages = 64});
  fixture.Create();
  std::atomic<bool> syncing{false};
  std::atomic<bool> go_on{false};
  fs.SetSyncHook([&](const std::string& path, Bytes) {
    if (path.find("space_") == std::string::npos) return;
    syncing = true;
    while (!go_on) std::this_thread::yield();
  });
  EXPECT_TRUE(fixture.Add(1, 1).ok());
  EXPECT_TRUE(Await([&] { return syncing.load(); }));
  for (uint32_t page = 2; page < 64; ++page) EXPECT_TRUE(fixture.Add(page, 1).ok());
  EXPECT_TRUE(Await([&] { return fixture.pool().Statistics().dirty_frames == 0; }))
      << "no page was written during the sync";
  go_on = true;
  fs.SetSyncHook({});
}

TEST(Checkpoint, ABusyPageDoesNotKeepAFlushFromFinishing) {
  FaultFileSystem fs(TestSeed());
  PoolFixture fixture(&fs, {.background = true, .space_pages = 64});
  fixture.Create();
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    while (!stop) ASSERT_TRUE(fixture.Add(1, 1).ok());
  });
  for (int round = 0; round < 20; ++round) {
    const Lsn tail = fixture.log().tail();
    ASSERT_TRUE(fixture.pool().FlushAndCheckpoint().ok());
    EXPECT_GE(fixture.control().data().checkpoint_lsn, tail);
  }
  stop = true;
  writer.join();
}

}  // namespace
}  // namespace rowan
