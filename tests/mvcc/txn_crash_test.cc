// SPDX-License-Identifier: GPL-2.0-only
// Power cuts at random moments of random transactions, then recovery and comparison: of each
// session's commits a prefix is there, every acknowledged one among it, and nothing of an
// unfinished one.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/logging.h"
#include "base/random.h"
#include "tests/mvcc/undo_world.h"

namespace rowan {
namespace {

constexpr uint32_t kSessions = 4;
constexpr uint32_t kCellsEach = UndoWorld::kCells / kSessions;
using Cells = std::map<uint32_t, uint64_t>;

/// One session's view: its cells after each of its commits.
struct SessionModel {
  std::vector<Cells> states{Cells{}};  ///< states[n] = after n commits
  size_t acknowledged = 0;
  Cells working;
  std::unique_ptr<Txn> txn = std::make_unique<Txn>();
  std::vector<std::pair<UndoPosition, Cells>> savepoints;
};

class TxnCrashTest : public ::testing::Test {
 protected:
  /// Random steps until the power is gone or `steps` are done.
  void Work(UndoWorld* world, Random* random, int steps) {
    for (int step = 0; step < steps && !world->log().stopped(); ++step) {
      SessionModel& session = sessions_[random->Below(kSessions)];
      const uint64_t choice = random->Below(20);
      if (choice < 13) {
        WriteSome(world, random, &session);
      } else if (choice < 15) {
        session.savepoints.emplace_back(world->manager().Savepoint(session.txn.get()),
                                        session.working);
      } else if (choice == 15 && !session.savepoints.empty()) {
        const auto [position, cells] = session.savepoints.back();
        session.savepoints.pop_back();
        if (!world->manager().RollbackTo(session.txn.get(), position).ok()) return;
        session.working = cells;
      } else if (choice == 16) {
        session.savepoints.clear();
        if (!world->manager().Rollback(session.txn.get()).ok()) return;
        session.working = session.states.back();
      } else if (choice >= 17) {
        Commit(world, random, &session);
      }
      if (random->OneIn(15) && !world->PurgeUnit(0, 1, random->Between(1, 40)).ok()) return;
      if (random->OneIn(200) && !world->pool().FlushAndCheckpoint().ok()) return;
    }
  }

  void WriteSome(UndoWorld* world, Random* random, SessionModel* session) {
    const auto index = static_cast<uint32_t>(session - sessions_.data());
    for (uint64_t count = random->Between(1, random->OneIn(20) ? 120 : 4); count > 0; --count) {
      const uint32_t cell = index * kCellsEach +
                            static_cast<uint32_t>(random->Below(kCellsEach));
      const uint64_t value = ++value_;
      if (!world->Write(session->txn.get(), cell, value).ok()) return;
      session->working[cell] = value;
    }
  }

  void Commit(UndoWorld* world, Random* random, SessionModel* session) {
    session->savepoints.clear();
    // A commit without a write waits for nothing: it promises nothing of earlier ones.
    const bool durable = random->OneIn(2) && session->txn->undo_start.page != kNoPage;
    session->states.push_back(session->working);
    const Status status = world->manager().Commit(
        session->txn.get(), durable ? Durability::kDurable : Durability::kBackground, true);
    if (status.ok() && durable) session->acknowledged = session->states.size() - 1;
  }

  static std::string Difference(const Cells& expected, const Cells& found) {
    std::string text = "; acknowledged -> found:";
    for (uint32_t cell = 0; cell < UndoWorld::kCells; ++cell) {
      const auto left = expected.find(cell);
      const auto right = found.find(cell);
      const uint64_t old_value = left == expected.end() ? 0 : left->second;
      const uint64_t new_value = right == found.end() ? 0 : right->second;
      if (old_value == new_value) continue;
      text += " " + std::to_string(cell) + ": " + std::to_string(old_value) + " -> " +
              std::to_string(new_value);
    }
    return text;
  }

  /// Which prefix of a session's commits the instance shows; all of its cells at once.
  void Compare(UndoWorld* world) {
    for (uint32_t index = 0; index < kSessions; ++index) {
      SessionModel& session = sessions_[index];
      Cells found;
      for (uint32_t i = 0; i < kCellsEach; ++i) {
        const uint64_t value = world->Cell(index * kCellsEach + i);
        if (value != 0) found[index * kCellsEach + i] = value;
      }
      size_t prefix = session.states.size();
      while (prefix > session.acknowledged && session.states[prefix - 1] != found) --prefix;
      ASSERT_TRUE(prefix > 0 && session.states[prefix - 1] == found)
          << "session " << index << " acknowledged " << session.acknowledged << " of "
          << session.states.size() - 1 << Difference(session.states[session.acknowledged], found);
      session.states.resize(prefix);
      session.acknowledged = prefix - 1;
      session.working = found;
      session.savepoints.clear();
      session.txn = std::make_unique<Txn>();
    }
  }

  void Run(uint64_t seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    UndoWorld world(seed);
    world.Create();
    for (int crash = 0; crash < 4 && !HasFatalFailure(); ++crash) {
      if (!random.OneIn(4)) world.file_system().PowerOffAfter(random.Between(5, 400));
      Work(&world, &random, 600);
      for (SessionModel& session : sessions_) session.txn.reset();
      world.Kill();
      world.file_system().Crash(random.Next());
      // Recovery itself is interrupted now and then.
      if (random.OneIn(3)) {
        world.file_system().PowerOffAfter(random.Between(1, 100));
        if (world.Start(true).ok()) {
          for (int i = 0; i < 3; ++i) static_cast<void>(world.RollbackUnit(random.Between(1, 20)));
        }
        world.Kill();
        world.file_system().Crash(random.Next());
      }
      const Status status = world.Start(true);
      ASSERT_TRUE(status.ok()) << status.message() << world.file_system().Describe();
      world.RollBackLosers();
      Compare(&world);
      world.CheckAll();
      if (random.OneIn(2)) world.Purge();
      world.CheckAll();
    }
  }

  std::array<SessionModel, kSessions> sessions_;
  uint64_t value_ = 0;
};

TEST_F(TxnCrashTest, CommitsAreWholeDurableAndInOrder) {
  SetLogLevel(LogLevel::kError);
  // every power cut stops the engine with a sentence
  SetLogSink([](LogLevel, std::string_view) {});
  const uint64_t rounds = TestSetting("ROWAN_TEST_ROUNDS", 25);
  for (uint64_t round = 0; round < rounds && !HasFailure(); ++round) {
    sessions_ = {};
    Run(TestSeed() + round);
  }
  SetLogSink({});
  SetLogLevel(LogLevel::kInfo);
}

}  // namespace
}  // namespace rowan
