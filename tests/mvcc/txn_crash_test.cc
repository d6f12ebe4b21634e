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
#include "tests/mvcc/undo_fixture.h"

namespace rowan {
namespace {

constexpr uint32_t kSessions = 4;
constexpr uint32_t kCellsEach = UndoFixture::kCells / kSessions;
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
  void Work(UndoFixture* fixture, Random* random, int steps) {
    for (int step = 0; step < steps && !fixture->log().stopped(); ++step) {
      SessionModel& session = sessions_[random->Below(kSessions)];
      const uint64_t choice = random->Below(20);
      if (choice < 13) {
        WriteSome(fixture, random, &session);
      } else if (choice < 15) {
        session.savepoints.emplace_back(fixture->manager().Savepoint(session.txn.get()),
                                        session.working);
      } else if (choice == 15 && !session.savepoints.empty()) {
        const auto [position, cells] = session.savepoints.back();
        session.savepoints.pop_back();
        if (!fixture->manager().RollbackTo(session.txn.get(), position).ok()) return;
        session.working = cells;
      } else if (choice == 16) {
        session.savepoints.clear();
        if (!fixture->manager().Rollback(session.txn.get()).ok()) return;
        session.working = session.states.back();
      } else if (choice >= 17) {
        Commit(fixture, random, &session);
      }
      if (random->OneIn(15) && !fixture->PurgeUnit(0, 1, random->Between(1, 40)).ok()) return;
      if (random->OneIn(200) && !fixture->pool().FlushAndCheckpoint().ok()) return;
    }
  }

  void WriteSome(UndoFixture* fixture, Random* random, SessionModel* session) {
    const auto index = static_cast<uint32_t>(session - sessions_.data());
    for (uint64_t count = random->Between(1, random->OneIn(20) ? 120 : 4); count > 0; --count) {
      const uint32_t cell = index * kCellsEach + static_cast<uint32_t>(random->Below(kCellsEach));
      const uint64_t value = ++value_;
      if (!fixture->Write(session->txn.get(), cell, value).ok()) return;
      session->working[cell] = value;
    }
  }

  void Commit(UndoFixture* fixture, Random* random, SessionModel* session) {
    session->savepoints.clear();
    // A commit without a write waits for nothing: it promises nothing of earlier ones.
    const bool durable = random->OneIn(2) && !session->txn->undo.empty();
    session->states.push_back(session->working);
    const Status status = fixture->manager().Commit(
        session->txn.get(), durable ? Durability::kDurable : Durability::kBackground, true);
    if (status.ok() && durable) session->acknowledged = session->states.size() - 1;
  }

  static std::string Difference(const Cells& expected, const Cells& found) {
    std::string text = "; acknowledged -> found:";
    for (uint32_t cell = 0; cell < UndoFixture::kCells; ++cell) {
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
  void Compare(UndoFixture* fixture) {
    for (uint32_t index = 0; index < kSessions; ++index) {
      SessionModel& session = sessions_[index];
      Cells found;
      for (uint32_t i = 0; i < kCellsEach; ++i) {
        const uint64_t value = fixture->Cell(index * kCellsEach + i);
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
    UndoFixture fixture(seed, TestPageSizeBytes(),
                        random.OneIn(2) ? DoublewriteMode::kOn : DoublewriteMode::kAtomic);
    fixture.Create();
    for (int crash = 0; crash < 4 && !HasFatalFailure(); ++crash) {
      // Or a sync fails, and what it lost looks to the next start as if it were there.
      const bool process_dies = random.OneIn(4);
      if (process_dies) {
        fixture.file_system().Inject(
            {.call = FileCall::kSync, .path_part = "space_", .nth_call = random.Between(1, 6)});
      } else if (!random.OneIn(4)) {
        fixture.file_system().PowerOffAfter(random.Between(5, 400));
      }
      Work(&fixture, &random, 600);
      for (SessionModel& session : sessions_) session.txn.reset();
      fixture.Kill();
      fixture.file_system().ClearFaults();
      if (process_dies) {
        const Status between = fixture.Start(true);
        ASSERT_TRUE(between.ok()) << between.message();
        fixture.Kill();
      }
      fixture.file_system().Crash(random.Next());
      // Recovery itself is interrupted now and then.
      if (random.OneIn(3)) {
        fixture.file_system().PowerOffAfter(random.Between(1, 100));
        if (fixture.Start(true).ok()) {
          for (int i = 0; i < 3; ++i)
            static_cast<void>(fixture.RollbackUnit(random.Between(1, 20)));
        }
        fixture.Kill();
        fixture.file_system().Crash(random.Next());
      }
      const Status status = fixture.Start(true);
      ASSERT_TRUE(status.ok()) << status.message() << fixture.file_system().Describe();
      fixture.RollBackLosers();
      Compare(&fixture);
      fixture.CheckAll();
      if (random.OneIn(2)) fixture.Purge();
      fixture.CheckAll();
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
