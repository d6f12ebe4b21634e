// SPDX-License-Identifier: GPL-2.0-only
// Syncs beside each other: all are made, at once, and a failure is not lost.
#include "buffer/page/sync_crew.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "buffer/page/sync_tracker.h"
#include "io/aligned_buffer.h"
#include "tests/support/fault_file_system.h"
#include "tests/support/test_settings.h"

namespace rowan {
namespace {

TEST(SyncCrew, UnitsRunBesideEachOtherAndOnceEach) {
  SyncCrew crew(3);
  std::array<std::atomic<int>, 100> calls{};
  std::atomic<int> begun{0};
  const Status status = crew.Run(calls.size(), [&](size_t number) {
    ++calls[number];
    ++begun;
    // The first four only go on together.
    while (begun < 4) std::this_thread::yield();
    return Status::Ok();
  });
  EXPECT_TRUE(status.ok());
  for (const auto& count : calls) EXPECT_EQ(count, 1);
}

TEST(SyncCrew, AFailureIsReturnedAndEndsTheRun) {
  SyncCrew crew(3);
  std::atomic<size_t> calls{0};
  const Status status = crew.Run(10000, [&](size_t number) {
    ++calls;
    return number == 5 ? Status(Code::kIoError, "no") : Status::Ok();
  });
  EXPECT_TRUE(status.Is(Code::kIoError));
  EXPECT_LT(calls, 10000u);
  EXPECT_TRUE(crew.Run(3, [](size_t) { return Status::Ok(); }).ok());
  EXPECT_TRUE(crew.Run(0, [](size_t) { return Status(Code::kIoError); }).ok());
}

TEST(SyncCrew, ServesSeveralCallersAtATime) {
  SyncCrew crew(4);
  std::vector<std::thread> callers;
  std::atomic<int> calls{0};
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([&] {
      for (int round = 0; round < 200; ++round) {
        EXPECT_TRUE(crew.Run(7,
                             [&](size_t) {
                               ++calls;
                               return Status::Ok();
                             })
                        .ok());
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(calls, 4 * 200 * 7);
}

TEST(SyncTracker, SyncsManyFilesInMuchLessThanTheSumOfTheirTimes) {
  constexpr uint32_t kSpaces = 64;
  constexpr uint32_t kSyncMicros = 20'000;
  FaultFileSystem fs(TestSeed());
  const uint32_t page_size = TestPageSizeBytes();
  SpaceFiles files(&fs, "/db", page_size);
  SyncTracker tracker(&files, SyncMethod::kFdatasync);
  const AlignedBuffer page(page_size);
  for (uint32_t i = 0; i < kSpaces; ++i) {
    const SpaceId space(20 + i);
    ASSERT_TRUE(files.Create(space, 1).ok());
    ASSERT_TRUE(files.WritePage({space, PageNumber(0)}, page.span()).ok());
    tracker.NoteWrite(space);
  }
  fs.SetSyncDelayMicros(kSyncMicros);
  const uint64_t syncs = fs.Calls(FileCall::kSync);
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_TRUE(tracker.SyncAll().ok());
  const auto taken = std::chrono::steady_clock::now() - begin;
  EXPECT_EQ(fs.Calls(FileCall::kSync), syncs + kSpaces);
  EXPECT_LT(taken, std::chrono::microseconds(kSpaces * kSyncMicros / 2));
}

}  // namespace
}  // namespace rowan
