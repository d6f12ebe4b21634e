// SPDX-License-Identifier: GPL-2.0-only
// Fixing and evicting with a pool far smaller than the data: contents stay right, nobody deadlocks.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "base/counters.h"
#include "base/random.h"
#include "buffer/eviction.h"
#include "buffer/page/doublewrite.h"
#include "tests/buffer/hooked_file_system.h"
#include "tests/buffer/pool_fixture.h"
#include "tests/support/fault_file_system.h"

namespace rowan {
namespace {

TEST(FixEvict, ASessionDoesNotWaitForTheBatchThatAnotherOneWrites) {
  FaultFileSystem disk(TestSeed());
  HookedFileSystem fs(&disk);
  PoolFixture fixture(&fs, {.pool_pages = 64, .session_writers = 2, .space_pages = 100});
  fixture.Create();
  for (uint32_t page = 1; page < 64; ++page) ASSERT_TRUE(fixture.Add(page, 1).ok());
  std::promise<void> writing;
  std::promise<void> go_on;
  std::atomic<bool> first{true};
  std::atomic<bool> in_time{false};
  fs.SetHook([&](const std::string& path, Bytes) {
    if (path.find(kDoublewriteFileName) == std::string::npos || !first.exchange(false)) return;
    writing.set_value();
    in_time = go_on.get_future().wait_for(std::chrono::seconds(20)) == std::future_status::ready;
  });
  // Every page in the pool is dirty, so both have to write before they get a frame.
  std::thread slow([&] {
    for (uint32_t page = 64; first && page < 80; ++page) EXPECT_TRUE(fixture.Add(page, 1).ok());
  });
  writing.get_future().wait();
  for (uint32_t page = 80; page < 84; ++page) EXPECT_TRUE(fixture.Add(page, 1).ok());
  go_on.set_value();
  slow.join();
  fs.SetHook({});
  EXPECT_TRUE(in_time) << "the second session waited for the first one's batch";
}

TEST(FixEvict, ThreadsFindTheirOwnSumsThroughATinyPool) {
  FaultFileSystem fs(TestSeed());
  PoolFixture fixture(&fs, {.pool_pages = 32,
                            .background = true,
                            .cleaners = 2,
                            .session_writers = 2,
                            .space_pages = 200});
  fixture.Create();
  constexpr uint32_t kThreads = 6;
  constexpr int kRounds = 1500;
  std::vector<std::atomic<uint64_t>> sums(200);
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      Random random(TestSeed() + t);
      for (int i = 0; i < kRounds; ++i) {
        const auto page = static_cast<uint32_t>(random.Between(1, 199));
        if (random.OneIn(2)) {
          const Result<uint64_t> read = fixture.Read(page);
          ASSERT_TRUE(read.ok()) << read.status().message();
        } else {
          const uint64_t amount = random.Below(1000);
          const Result<Lsn> end = fixture.Add(page, amount);
          ASSERT_TRUE(end.ok()) << end.status().message();
          sums[page] += amount;
        }
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (uint32_t page = 1; page < 200; ++page) {
    ASSERT_EQ(fixture.Read(page).value(), sums[page].load()) << page;
  }
}

TEST(FixEvict, ManyThreadsHoldingManyPagesOfATinyPoolAllFinish) {
  FaultFileSystem fs(TestSeed());
  PoolFixture fixture(&fs, {.pool_pages = 64, .background = true, .space_pages = 300});
  fixture.Create();
  constexpr uint32_t kThreads = 16;
  std::atomic<uint64_t> added{0};
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      Random random(TestSeed() + 100 + t);
      for (int i = 0; i < 60; ++i) {
        MiniTxn mini_txn(&fixture.pool());
        ASSERT_TRUE(mini_txn.Start(1024).ok());
        // Ascending page numbers: the test's own latch order.
        auto page = static_cast<uint32_t>(random.Between(1, 40));
        for (int held = 0; held < 6; ++held) {
          Result<MutablePage> fixed = mini_txn.Fix(PoolFixture::Id(page));
          ASSERT_TRUE(fixed.ok()) << fixed.status().message();
          fixture.Change(&mini_txn, *fixed, fixture.CounterOf(fixed->bytes) + 1);
          ++added;
          page += static_cast<uint32_t>(random.Between(1, 40));
        }
        (void)mini_txn.Commit();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  uint64_t sum = 0;
  for (uint32_t page = 1; page < 300; ++page) sum += fixture.Read(page).value();
  EXPECT_EQ(sum, added.load());
}

TEST(FixEvict, ADirtyPoolWithoutBackgroundThreadsCleansItself) {
  FaultFileSystem fs(TestSeed());
  PoolFixture fixture(&fs, {.pool_pages = 16, .space_pages = 64});
  fixture.Create();
  for (uint32_t round = 0; round < 3; ++round) {
    for (uint32_t page = 1; page < 64; ++page) ASSERT_TRUE(fixture.Add(page, page).ok());
  }
  for (uint32_t page = 1; page < 64; ++page) ASSERT_EQ(fixture.Read(page).value(), 3 * page);
}

TEST(FixEvict, OptimisticReadersSeeWholeChangesOnly) {
  FaultFileSystem fs(TestSeed());
  PoolFixture fixture(&fs, {.pool_pages = 32, .background = true, .space_pages = 64});
  fixture.Create();
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (int i = 0; i < 3000; ++i) ASSERT_TRUE(fixture.Add(1 + i % 60, 1).ok());
    stop = true;
  });
  uint64_t validated = 0;
  for (uint32_t i = 0; !stop || i < 1000; ++i) {
    OptimisticPage page;
    ASSERT_TRUE(
        fixture.pool().FixOptimistic(PoolFixture::Id(1 + i % 60), FixHint::kNormal, &page).ok());
    // The id is read from the frame, not from racing page bytes.
    const uint64_t id = page.frame->page_id.load(std::memory_order_relaxed);
    if (!page.Validate()) continue;
    ++validated;
    ASSERT_EQ(id, PoolFixture::Id(1 + i % 60).Packed());
  }
  writer.join();
  EXPECT_GT(validated, 0u);
}

TEST(FixEvict, AScanDoesNotPushOutPagesInUse) {
  FaultFileSystem fs(TestSeed());
  PoolFixture fixture(&fs, {.pool_pages = 64, .space_pages = 512});
  fixture.Create();
  ASSERT_TRUE(fixture.Start().ok());
  for (int round = 0; round < 4; ++round) {
    for (uint32_t page = 1; page <= 20; ++page) ASSERT_TRUE(fixture.Read(page).ok());
  }
  for (uint32_t page = 100; page < 130; ++page) {
    ASSERT_TRUE(fixture.Read(page, FixHint::kScan).ok());
  }
  // Half of the frames after these are free; then scanned pages take the place of scanned pages.
  for (uint32_t page = 130; page < 170; ++page) {
    ASSERT_TRUE(fixture.Read(page, FixHint::kScan).ok());
  }
  const uint64_t before = ReadCounter(Counter::kPagesRead);
  for (uint32_t page = 1; page <= 20; ++page) ASSERT_TRUE(fixture.Read(page).ok());
  EXPECT_EQ(ReadCounter(Counter::kPagesRead), before);
}

TEST(FixEvict, ReadAheadBringsPagesInBeforeTheyAreAskedFor) {
  FaultFileSystem fs(TestSeed());
  PoolFixture fixture(&fs, {.pool_pages = 256, .background = true, .space_pages = 128});
  fixture.Create();
  ASSERT_TRUE(fixture.Start().ok());
  const uint64_t ahead = ReadCounter(Counter::kPagesReadAhead);
  std::vector<PageId> ids;
  for (uint32_t page = 1; page <= 40; ++page) ids.push_back(PoolFixture::Id(page));
  fixture.pool().Prefetch(ids);
  while (ReadCounter(Counter::kPagesReadAhead) < ahead + 40) std::this_thread::yield();
  const uint64_t before = ReadCounter(Counter::kPagesRead);
  for (uint32_t page = 1; page <= 40; ++page) ASSERT_EQ(fixture.Read(page).value(), 0u);
  EXPECT_EQ(ReadCounter(Counter::kPagesRead), before);
}

TEST(FixEvict, ResizeGrowsAndShrinksUnderLoad) {
  FaultFileSystem fs(TestSeed());
  const uint32_t page_size = TestPageSizeBytes();
  PoolFixture fixture(&fs, {.pool_pages = 64, .background = true, .space_pages = 300});
  fixture.Create();
  std::atomic<bool> stop{false};
  std::vector<std::atomic<uint64_t>> sums(300);
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      Random random(TestSeed() + t);
      while (!stop) {
        const auto page = static_cast<uint32_t>(random.Between(1, 299));
        ASSERT_TRUE(fixture.Add(page, 1).ok());
        ++sums[page];
      }
    });
  }
  for (const uint32_t frames : {400u, 32u, 200u, 24u, 64u}) {
    const Status status = fixture.pool().Resize(uint64_t{frames} * page_size);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(fixture.pool().Statistics().frames, frames);
  }
  stop = true;
  for (auto& thread : threads) thread.join();
  for (uint32_t page = 1; page < 300; ++page) {
    ASSERT_EQ(fixture.Read(page).value(), sums[page].load()) << page;
  }
  EXPECT_TRUE(fixture.pool().Resize(page_size).Is(Code::kInvalidArgument));
}

TEST(FixEvict, FramesOfADeadSpaceAreFreedAndItsPagesAreGone) {
  FaultFileSystem fs(TestSeed());
  PoolFixture fixture(&fs, {.pool_pages = 64, .space_pages = 40});
  fixture.Create();
  ASSERT_TRUE(fixture.Start().ok());  // no page of another space is in the pool
  for (uint32_t page = 1; page < 40; ++page) ASSERT_TRUE(fixture.Add(page, 1).ok());
  ASSERT_TRUE(fixture.files().Drop(PoolFixture::kSpace).ok());
  fixture.pool().ForgetSpace(PoolFixture::kSpace);
  EXPECT_EQ(fixture.pool().Statistics().free_frames, 64u);
  EXPECT_EQ(fixture.pool().Statistics().dirty_frames, 0u);
  EXPECT_TRUE(fixture.Read(1).status().Is(Code::kNotFound));
  EXPECT_TRUE(fixture.pool().FixNew(PoolFixture::Id(1)).status().Is(Code::kNotFound));
  EXPECT_TRUE(fixture.pool().FlushAndCheckpoint().ok());
}

}  // namespace
}  // namespace rowan
