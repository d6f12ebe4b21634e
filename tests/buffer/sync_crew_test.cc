// SPDX-License-Identifier: GPL-2.0-only
// Syncs beside each other: all are made, at once, and a failure is not lost.
#include "buffer/page/sync_crew.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "buffer/page/sync_tracker.h"
#include "io/aligned_buffer.h"
#include "tests/buffer/hooked_file_system.h"
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
    return number >= 5 ? Status(Code::kIoError, "no") : Status::Ok();
  });
  EXPECT_TRUE(status.Is(Code::kIoError));
  EXPECT_LE(calls, 5u + 4u) << "each thread ends with its first failure";
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

TEST(SyncTracker, SyncsManyFilesBesideEachOther) {
  constexpr uint32_t kSpaces = 64;
  FaultFileSystem fs(TestSeed());
  HookedFileSystem hooked(&fs);
  const uint32_t page_size = TestPageSizeBytes();
  SpaceFiles files(&hooked, "/db", page_size);
  SyncTracker tracker(&files, SyncMethod::kFdatasync);
  const AlignedBuffer page(page_size);
  for (uint32_t i = 0; i < kSpaces; ++i) {
    const SpaceId space(20 + i);
    ASSERT_TRUE(files.Create(space, 1).ok());
    ASSERT_TRUE(files.WritePage({space, PageNumber(0)}, page.span()).ok());
    tracker.NoteWrite(space);
  }
  std::atomic<uint32_t> syncs{0};
  hooked.SetSyncHook([&](const std::string&, Bytes) {
    ++syncs;
    // The first four only go on together.
    while (syncs < 4) std::this_thread::yield();
  });
  ASSERT_TRUE(tracker.SyncAll().ok());
  EXPECT_EQ(syncs, kSpaces);
}

}  // namespace
}  // namespace rowan
