// SPDX-License-Identifier: GPL-2.0-only
// Every sync method, on real files and on simulated ones, alone and switched under load.
#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/counters.h"
#include "base/random.h"
#include "tests/support/fault_file_system.h"
#include "tests/support/temp_dir.h"
#include "tests/wal/log_fixture.h"
#include "wal/latency_histogram.h"
#include "wal/sync_probe.h"

namespace rowan::sync_method_test {
namespace {

constexpr LogSyncMethod kMethods[] = {LogSyncMethod::kFsync, LogSyncMethod::kFdatasync,
                                      LogSyncMethod::kDsync, LogSyncMethod::kDirectDsync,
                                      LogSyncMethod::kUring};
constexpr uint64_t kThreadStride = 1000000;
constexpr uint64_t kSecondNanos = uint64_t{1000} * 1000 * 1000;

/// Committers of different strictness; returns when each has done its share.
void RunCommitters(LogFixture* world, uint64_t threads, uint64_t commits) {
  std::vector<std::thread> committers;
  std::atomic<uint64_t> begun{0};
  for (uint64_t thread = 0; thread < threads; ++thread) {
    committers.emplace_back([=, &begun] {
      // All at once, however long a busy machine takes to start them.
      ++begun;
      while (begun.load() < threads) std::this_thread::yield();
      Random random(thread);
      const auto durability = thread % 4 == 3 ? Durability::kWrite : Durability::kDurable;
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

void ExpectAllFound(const LogFixture& world, uint64_t threads, uint64_t commits) {
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
  LogFixture world(PosixFileSystem(), folder.path());
  world.options.sync_method = GetParam();
  world.options.capacity_bytes = uint64_t{8} << 20;
  ASSERT_TRUE(world.Start().ok());
  if (world.log->sync_method() != GetParam()) GTEST_SKIP() << "refused on this system";
  const uint64_t waits = ReadCounter(Counter::kCommitWaits);
  const uint64_t syncs_before = ReadCounter(Counter::kLogSyncs);
  RunCommitters(&world, 12, 60);
  EXPECT_GT(ReadCounter(Counter::kCommitWaits), waits);
  ASSERT_TRUE(world.log->Close().ok());  // nobody syncs any more
  const LatencyHistogram& syncs = world.log->Latency(GetParam(), LogPhase::kSync);
  EXPECT_EQ(syncs.TotalCount(), ReadCounter(Counter::kLogSyncs) - syncs_before);
  EXPECT_GT(syncs.TotalMicros(), 0u);
  EXPECT_GT(world.log->Latency(GetParam(), LogPhase::kWrite).TotalCount(), 0u);
  world.Vanish();
  ASSERT_TRUE(world.Start().ok());
  ExpectAllFound(world, 12, 60);
}

TEST_P(SyncMethodTest, AcknowledgedIsDurableOnSimulatedFiles) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    FaultFileSystem files(seed);
    LogFixture world(&files, "log");
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

void SwitchUnderLoad(LogFixture* world) {
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
  LogFixture world(PosixFileSystem(), folder.path());
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
  LogFixture world(&files, "log");
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
  LogFixture world(PosixFileSystem(), folder.path());
  world.options.sync_method = LogSyncMethod::kAuto;
  ASSERT_TRUE(world.Start().ok());
  EXPECT_NE(world.log->sync_method(), LogSyncMethod::kAuto);
  ASSERT_TRUE(world.log->SetSyncMethod(LogSyncMethod::kFsync).ok());
  EXPECT_EQ(world.log->sync_method(), LogSyncMethod::kFsync);
  ASSERT_TRUE(world.log->SetSyncMethod(LogSyncMethod::kAuto).ok());
  EXPECT_NE(world.log->sync_method(), LogSyncMethod::kAuto);
  FaultFileSystem files(1);
  LogFixture simulated(&files, "log");
  simulated.options.sync_method = LogSyncMethod::kAuto;
  ASSERT_TRUE(simulated.Start().ok());
  EXPECT_EQ(simulated.log->sync_method(), LogSyncMethod::kFdatasync);
}

TEST(SyncSwitchTest, ARefusedMethodChangesNothing) {
  FaultFileSystem files(1);
  LogFixture world(&files, "log");
  ASSERT_TRUE(world.Start().ok());
  files.Inject({.call = FileCall::kOpen, .path_part = "redo_0"});
  EXPECT_TRUE(world.log->SetSyncMethod(LogSyncMethod::kDsync).Is(Code::kUnsupported));
  EXPECT_EQ(world.log->sync_method(), LogSyncMethod::kFdatasync);
  EXPECT_TRUE(world.log->WaitDurable(world.Append(1)).ok());
}

TEST(SyncProbeTest, TheSimplerMethodStaysWithinTheNoise) {
  using Method = LogSyncMethod;
  EXPECT_EQ(ChooseSyncMethod({}), Method::kFdatasync);
  EXPECT_EQ(ChooseSyncMethod({{Method::kFdatasync, "", 100, 90}, {Method::kDsync, "", 92, 85}}),
            Method::kFdatasync);
  EXPECT_EQ(ChooseSyncMethod({{Method::kFdatasync, "", 100, 90}, {Method::kUring, "", 80, 70}}),
            Method::kUring);
  // A median spoilt by noise does not decide against the best figures, nor the other way round.
  EXPECT_EQ(ChooseSyncMethod({{Method::kFdatasync, "", 4000, 90}, {Method::kUring, "", 100, 88}}),
            Method::kFdatasync);
  EXPECT_EQ(ChooseSyncMethod({{Method::kFdatasync, "", 100, 90}, {Method::kUring, "", 98, 40}}),
            Method::kFdatasync);
  EXPECT_EQ(ChooseSyncMethod({{Method::kFdatasync, "no", 0, 0}, {Method::kDsync, "", 9, 9}}),
            Method::kDsync);
}

TEST(WaitDurableForTest, AsksForASyncAndReturnsOnceItIsDone) {
  FaultFileSystem files(1);
  LogFixture world(&files, "log");
  ASSERT_TRUE(world.Start().ok());
  const auto never = [] { return false; };
  constexpr int kWaits = 10;
  const uint64_t begin = MonotonicNanos();
  for (int i = 0; i < kWaits; ++i) {
    const Lsn end = world.Append(1);
    ASSERT_TRUE(world.log->WaitDurableFor(end, kSecondNanos * 60, never).ok());
    EXPECT_GE(world.log->durable(), end);
    EXPECT_TRUE(world.log->WaitDurableFor(end, 0, never).ok());
  }
  EXPECT_LT(MonotonicNanos() - begin, (kWaits - 2) * kSecondNanos)
      << "left to the flush of each second";
}

TEST(WaitDurableForTest, GivesUpAfterItsLimitOrWhenInterrupted) {
  FaultFileSystem files(1);
  LogFixture world(&files, "log");
  ASSERT_TRUE(world.Start().ok());
  const Lsn beyond(world.log->tail().value() + 1000);
  EXPECT_TRUE(world.log->WaitDurableFor(beyond, kSecondNanos / 50, [] { return false; })
                  .Is(Code::kLockTimeout));
  int asked = 0;
  const auto third_time = [&asked] { return ++asked == 3; };
  EXPECT_TRUE(
      world.log->WaitDurableFor(beyond, kSecondNanos * 60, third_time).Is(Code::kInterrupted));
}

TEST(WaitDurableForTest, AStoppedLogWakesTheWaiter) {
  FaultFileSystem files(1);
  LogFixture world(&files, "log");
  ASSERT_TRUE(world.Start().ok());
  const Lsn beyond(world.log->tail().value() + 1000);
  std::atomic<bool> waits{false};
  std::thread waiter([&] {
    const auto note = [&] {
      waits = true;
      return false;
    };
    EXPECT_TRUE(world.log->WaitDurableFor(beyond, kSecondNanos * 60, note).Is(Code::kStopped));
  });
  while (!waits) std::this_thread::yield();
  world.log->Stop("a test");
  waiter.join();
}

TEST(CommitQueueTest, ManyWaitersShareASync) {
  FaultFileSystem files(1);
  LogFixture world(&files, "log");
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
}  // namespace rowan::sync_method_test
