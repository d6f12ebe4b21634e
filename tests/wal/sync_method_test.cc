// SPDX-License-Identifier: GPL-2.0-only
// Every sync method, on real files and on simulated ones, alone and switched under load.
#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>
#include <vector>

#include "base/counters.h"
#include "base/random.h"
#include "tests/support/fault_file_system.h"
#include "tests/support/temp_dir.h"
#include "tests/wal/log_world.h"
#include "wal/latency_histogram.h"

namespace rowan {
namespace {

constexpr LogSyncMethod kMethods[] = {LogSyncMethod::kFsync, LogSyncMethod::kFdatasync,
                                      LogSyncMethod::kDsync, LogSyncMethod::kDirectDsync,
                                      LogSyncMethod::kUring};
constexpr uint64_t kThreadStride = 1000000;

/// Committers of different strictness; returns when each has done its share.
void RunCommitters(LogWorld* world, uint64_t threads, uint64_t commits) {
  std::vector<std::thread> committers;
  for (uint64_t thread = 0; thread < threads; ++thread) {
    committers.emplace_back([=] {
      Random random(thread);
      const auto durability =
          thread % 4 == 3 ? Durability::kWrite : Durability::kDurable;
      for (uint64_t i = 1; i <= commits; ++i) {
        const Lsn end = world->Append(thread * kThreadStride + i, random.Below(600));
        ASSERT_NE(end, kNoLsn);
        ASSERT_TRUE(world->log->WaitCommitted(end, durability).ok());
        ASSERT_GE(durability == Durability::kWrite ? world->log->written() : world->log->durable(),
                  end);
      }
    });
  }
  for (std::thread& committer : committers) committer.join();
}

void ExpectAllFound(const LogWorld& world, uint64_t threads, uint64_t commits) {
  std::vector<uint64_t> last(threads, 0);
  for (const NumberedGroup& group : world.found) {
    const uint64_t thread = group.number / kThreadStride;
    ASSERT_LT(thread, threads);
    ASSERT_EQ(group.number % kThreadStride, ++last[thread]);
  }
  for (const uint64_t count : last) EXPECT_EQ(count, commits);
}

class SyncMethodTest : public ::testing::TestWithParam<LogSyncMethod> {};

TEST_P(SyncMethodTest, ManyCommittersOnRealFiles) {
  TempDir folder;
  LogWorld world(PosixFileSystem(), folder.path());
  world.options.sync_method = GetParam();
  world.options.capacity_bytes = uint64_t{8} << 20;
  ASSERT_TRUE(world.Start().ok());
  if (world.log->sync_method() != GetParam()) GTEST_SKIP() << "refused on this system";
  const uint64_t waits = ReadCounter(Counter::kCommitWaits);
  RunCommitters(&world, 12, 60);
  EXPECT_GT(ReadCounter(Counter::kCommitWaits), waits);
  uint64_t syncs = 0;
  for (const SyncLatencyBucket& bucket : world.log->SyncLatency(GetParam())) syncs += bucket.count;
  EXPECT_GT(syncs, 0u);
  ASSERT_TRUE(world.log->Close().ok());
  world.Vanish();
  ASSERT_TRUE(world.Start().ok());
  ExpectAllFound(world, 12, 60);
}

TEST_P(SyncMethodTest, AcknowledgedIsDurableOnSimulatedFiles) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    FaultFileSystem files(seed);
    LogWorld world(&files, "log");
    world.options.sync_method = GetParam();
    ASSERT_TRUE(world.Start().ok());
    ASSERT_EQ(world.log->sync_method(), GetParam());
    RunCommitters(&world, 3, 40);
    ASSERT_TRUE(world.log->WaitDurable(world.log->tail()).ok());
    world.Vanish();
    files.Crash({.keep = CrashPlan::Keep::kNothing}, seed);
    ASSERT_TRUE(world.Start().ok());
    ExpectAllFound(world, 3, 40);
  }
}

INSTANTIATE_TEST_SUITE_P(All, SyncMethodTest, ::testing::ValuesIn(kMethods),
                         [](const auto& test) { return LogSyncMethodName(test.param); });

void SwitchUnderLoad(LogWorld* world) {
  std::atomic<bool> done{false};
  std::thread switcher([&] {
    for (uint64_t round = 0; !done; ++round) {
      const Status status = world->log->SetSyncMethod(kMethods[round % std::size(kMethods)]);
      EXPECT_TRUE(status.ok() || status.Is(Code::kUnsupported)) << status.message();
    }
  });
  RunCommitters(world, 8, 150);
  done = true;
  switcher.join();
}

TEST(SyncSwitchTest, MethodsChangeUnderLoadOnRealFiles) {
  TempDir folder;
  LogWorld world(PosixFileSystem(), folder.path());
  world.options.capacity_bytes = uint64_t{8} << 20;
  ASSERT_TRUE(world.Start().ok());
  SwitchUnderLoad(&world);
  ASSERT_TRUE(world.log->Close().ok());
  world.Vanish();
  ASSERT_TRUE(world.Start().ok());
  ExpectAllFound(world, 8, 150);
}

TEST(SyncSwitchTest, MethodsChangeUnderLoadWithoutLosingACommit) {
  FaultFileSystem files(4);
  LogWorld world(&files, "log");
  world.options.capacity_bytes = uint64_t{8} << 20;
  ASSERT_TRUE(world.Start().ok());
  SwitchUnderLoad(&world);
  ASSERT_TRUE(world.log->WaitDurable(world.log->tail()).ok());
  world.Vanish();
  files.Crash({.keep = CrashPlan::Keep::kNothing}, 4);
  ASSERT_TRUE(world.Start().ok());
  ExpectAllFound(world, 8, 150);
}

TEST(SyncSwitchTest, AutoChoosesARealMethod) {
  TempDir folder;
  LogWorld world(PosixFileSystem(), folder.path());
  world.options.sync_method = LogSyncMethod::kAuto;
  ASSERT_TRUE(world.Start().ok());
  EXPECT_NE(world.log->sync_method(), LogSyncMethod::kAuto);
  ASSERT_TRUE(world.log->SetSyncMethod(LogSyncMethod::kFsync).ok());
  EXPECT_EQ(world.log->sync_method(), LogSyncMethod::kFsync);
  ASSERT_TRUE(world.log->SetSyncMethod(LogSyncMethod::kAuto).ok());
  EXPECT_NE(world.log->sync_method(), LogSyncMethod::kAuto);
  FaultFileSystem files(1);
  LogWorld simulated(&files, "log");
  simulated.options.sync_method = LogSyncMethod::kAuto;
  ASSERT_TRUE(simulated.Start().ok());
  EXPECT_EQ(simulated.log->sync_method(), LogSyncMethod::kFdatasync);
}

TEST(SyncSwitchTest, ARefusedMethodChangesNothing) {
  FaultFileSystem files(1);
  LogWorld world(&files, "log");
  ASSERT_TRUE(world.Start().ok());
  files.Inject({.call = FileCall::kOpen, .path_part = "redo_0"});
  EXPECT_TRUE(world.log->SetSyncMethod(LogSyncMethod::kDsync).Is(Code::kUnsupported));
  EXPECT_EQ(world.log->sync_method(), LogSyncMethod::kFdatasync);
  EXPECT_TRUE(world.log->WaitDurable(world.Append(1)).ok());
}

TEST(CommitQueueTest, ManyWaitersShareASync) {
  FaultFileSystem files(1);
  LogWorld world(&files, "log");
  world.options.capacity_bytes = uint64_t{8} << 20;
  ASSERT_TRUE(world.Start().ok());
  files.SetSyncDelayMicros(500);
  const uint64_t syncs = ReadCounter(Counter::kLogSyncs);
  RunCommitters(&world, 64, 10);  // deep enough for the flusher thread
  EXPECT_LT(ReadCounter(Counter::kLogSyncs) - syncs, 320u);
  world.Vanish();
  ASSERT_TRUE(world.Start().ok());
  ExpectAllFound(world, 64, 10);
}

TEST(LatencyHistogramTest, BucketsAndBoundsAgree) {
  for (uint64_t micros = 0; micros < 100000; ++micros) {
    const size_t bucket = LatencyHistogram::BucketOf(micros);
    ASSERT_LE(micros, LatencyHistogram::UpperBoundMicros(bucket));
    ASSERT_TRUE(bucket == 0 || micros > LatencyHistogram::UpperBoundMicros(bucket - 1));
  }
  EXPECT_EQ(LatencyHistogram::BucketOf(UINT64_MAX), LatencyHistogram::kBuckets - 1);
}

}  // namespace
}  // namespace rowan
