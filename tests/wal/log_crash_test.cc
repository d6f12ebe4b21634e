// SPDX-License-Identifier: GPL-2.0-only
// Power losses at random places of a random multi-threaded program, one after another on the same
// disk: what WaitDurable acknowledged is there, in order, without gaps, exactly once.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <thread>
#include <vector>

#include "base/logging.h"
#include "base/random.h"
#include "tests/support/fault_file_system.h"
#include "tests/support/test_settings.h"
#include "tests/wal/log_fixture.h"

namespace rowan::log_crash_test {
namespace {

constexpr uint64_t kThreads = 3;
constexpr uint64_t kThreadStride = 1000000;
constexpr LogSyncMethod kMethods[] = {LogSyncMethod::kFsync, LogSyncMethod::kFdatasync,
                                      LogSyncMethod::kDsync, LogSyncMethod::kDirectDsync,
                                      LogSyncMethod::kUring};

class CrashProgram {
 public:
  explicit CrashProgram(uint64_t seed) : random_(seed), files_(seed), world_(&files_, "log") {
    world_.options.sync_method = kMethods[random_.Below(std::size(kMethods))];
  }

  void Run(int rounds) {
    SCOPED_TRACE(files_.Describe());
    for (int round = 0; round < rounds && !::testing::Test::HasFailure(); ++round) {
      const bool started = Start();
      if (started) RunClients();
      world_.Vanish();
      files_.Crash(random_.Next());
    }
    files_.ClearFaults();
    ASSERT_TRUE(world_.Start().ok());
    CompareWithModel();
  }

 private:
  /// A start may be cut short too; then nothing was acknowledged.
  bool Start() {
    const bool cut_start = random_.OneIn(4);
    if (random_.OneIn(3)) world_.options.capacity_bytes = RandomCapacity(&random_);
    if (cut_start) files_.PowerOffAfter(random_.Below(60));
    const Status status = world_.Start();
    if (!status.ok()) {
      EXPECT_TRUE(cut_start) << status.message();
      EXPECT_FALSE(status.Is(Code::kCorrupt)) << status.message();
      return false;
    }
    CompareWithModel();
    if (!cut_start) files_.PowerOffAfter(random_.Below(400));
    return true;
  }

  void RunClients() {
    std::vector<std::thread> clients;
    for (uint64_t thread = 0; thread < kThreads; ++thread) {
      clients.emplace_back([this, thread, seed = random_.Next()] { RunClient(thread, seed); });
    }
    clients.emplace_back([this, seed = random_.Next()] { RunCheckpoints(seed); });
    for (std::thread& client : clients) client.join();
  }

  void RunClient(uint64_t thread, uint64_t seed) {
    Random random(seed);
    for (;;) {
      const uint64_t number = thread * kThreadStride + ++last_appended_[thread];
      const Lsn end = world_.Append(number, random.OneIn(20) ? 15000 : random.Below(700));
      if (end == kNoLsn) return;
      const auto durability = random.OneIn(5) ? Durability::kWrite : Durability::kDurable;
      if (!world_.log->WaitCommitted(end, durability).ok()) return;
      if (durability == Durability::kDurable) kept_[thread] = {number, end};
    }
  }

  /// Mostly the smallest, so that files are recycled within a round.
  static uint64_t RandomCapacity(Random* random) {
    return kLogCapacityLimits.least << (random->OneIn(2) ? 0 : random->Below(7));
  }

  void RunCheckpoints(uint64_t seed) {
    Random random(seed);
    std::unique_ptr<LogHold> hold;
    while (!world_.log->stopped()) {
      if (random.OneIn(200)) {
        EXPECT_TRUE(world_.log->SetCapacity(RandomCapacity(&random)).ok());
      }
      if (random.OneIn(200)) {
        auto held = world_.log->Hold("reader", world_.log->tail(), random.Below(1 << 20));
        hold = held.ok() ? std::move(held).value() : nullptr;
      }
      const Lsn lsn = world_.log->durable();
      const uint64_t distance = lsn.value() - world_.log->checkpoint().value();
      if (distance > random.Below(uint64_t{1} << 20)) {
        if (!world_.Checkpoint(lsn).ok()) world_.log->Stop("no checkpoint");
        checkpointed_ = std::max(checkpointed_, lsn);
      }
      std::this_thread::yield();
    }
  }

  /// `found` starts at the last checkpoint that reached the disk: what lies below it is not read.
  void CompareWithModel() {
    Progress last[kThreads];
    for (const NumberedGroup& group : world_.found) {
      const uint64_t thread = group.number / kThreadStride;
      ASSERT_LT(thread, kThreads);
      const bool first = last[thread].number == 0;
      if (!first) {
        ASSERT_EQ(group.number, last[thread].number + 1) << "a gap";
      }
      last[thread] = {group.number, group.end};
    }
    for (uint64_t thread = 0; thread < kThreads; ++thread) {
      Progress& kept = kept_[thread];
      if (last[thread].number == 0) {
        ASSERT_LE(kept.end, world_.control->data().checkpoint_lsn) << "thread " << thread;
      } else {
        ASSERT_GE(last[thread].number, kept.number) << "thread " << thread;
        kept = last[thread];  // what survived once is durable from now on
      }
      last_appended_[thread] = kept.number % kThreadStride;
    }
    ASSERT_GE(world_.end, checkpointed_);
  }

  struct Progress {
    uint64_t number = 0;
    Lsn end;
  };

  Random random_;
  FaultFileSystem files_;
  LogFixture world_;
  uint64_t last_appended_[kThreads] = {};
  Progress kept_[kThreads];  // acknowledged, or found after a crash; each by its own thread
  Lsn checkpointed_;
};

TEST(LogCrashTest, AcknowledgedCommitsSurvivePowerLosses) {
  SetLogLevel(LogLevel::kError);
  SetLogSink([](LogLevel, std::string_view) {});
  const uint64_t first = TestSeed();
  const uint64_t count = TestSetting("ROWAN_TEST_CRASHES", 400);
  for (uint64_t seed = first; seed < first + count && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    CrashProgram(seed).Run(3);
  }
  SetLogSink({});
  SetLogLevel(LogLevel::kInfo);
}

}  // namespace
}  // namespace rowan::log_crash_test
