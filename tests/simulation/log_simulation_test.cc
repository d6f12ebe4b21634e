// SPDX-License-Identifier: GPL-2.0-only
// Sessions that wait for a durable log while a checkpoint follows close behind them and lets its
// files go, with threads that take turns as the seed says.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "tests/simulation/scheduler.h"
#include "tests/support/fault_file_system.h"
#include "tests/support/log_capture.h"
#include "tests/wal/log_fixture.h"

namespace rowan {
namespace {

using simulation::Scheduler;

constexpr int kSessions = 4;
constexpr uint64_t kGroupsEach = 64;
constexpr size_t kBodyBytes = 50'000;  // most of a file of the smallest log

void Commit(LogFixture* world, uint64_t session) {
  for (uint64_t i = 0; i < kGroupsEach; ++i) {
    const Lsn end = world->Append(session * kGroupsEach + i, kBodyBytes);
    ASSERT_NE(end, kNoLsn);
    ASSERT_TRUE(world->log->WaitDurable(end).ok());
  }
}

void CommitBesideACheckpoint(uint64_t seed) {
  SCOPED_TRACE(seed);
  LogCapture messages;
  FaultFileSystem files(seed);
  LogFixture world(&files, "db");
  ASSERT_TRUE(files.CreateFolder("db").ok());
  ASSERT_TRUE(world.Start().ok());
  std::atomic<bool> done{false};
  std::thread checkpointer([&] {
    while (!done.load()) {
      EXPECT_TRUE(world.Checkpoint(world.log->durable()).ok());
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  });
  std::vector<std::thread> sessions;
  for (int i = 0; i < kSessions; ++i) sessions.emplace_back(Commit, &world, i);
  for (std::thread& session : sessions) session.join();
  done.store(true);
  checkpointer.join();
  EXPECT_FALSE(world.log->stopped()) << messages.Text();
}

TEST(LogSimulationTest, TheFilesOfALeaderThatIsOvertakenMayGo) {
  constexpr uint64_t kSeeds = 400;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Scheduler::Run({.seed = seed, .switch_one_in = 16}, [seed] { CommitBesideACheckpoint(seed); });
  }
}

}  // namespace
}  // namespace rowan
