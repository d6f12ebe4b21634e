// SPDX-License-Identifier: GPL-2.0-only
// Sessions, purge workers, snapshots and observers at the same time; and how purge shares its work.
#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/random.h"
#include "mvcc/undo/undo_check.h"
#include "tests/mvcc/undo_fixture.h"

namespace rowan {
namespace {

class PurgeTest : public ::testing::Test {
 protected:
  void SetUp() override { fixture_.Create(); }
  UndoFixture fixture_;
};

TEST_F(PurgeTest, WorkersShareTheStreamsByNumber) {
  constexpr size_t kWriters = 7;
  {
    std::vector<Txn> txns(kWriters);
    for (size_t i = 0; i < kWriters; ++i) {
      ASSERT_TRUE(fixture_.Write(&txns[i], static_cast<uint32_t>(i + 1), 1).ok());
    }
    EXPECT_EQ(fixture_.undo().stream_count(), kWriters);
    for (Txn& txn : txns) {
      ASSERT_TRUE(fixture_.manager().Commit(&txn, Durability::kBackground, true).ok());
    }
  }
  for (uint32_t worker = 0; worker < 3; ++worker) {
    const size_t before = fixture_.purged.size();
    Result<bool> more = fixture_.PurgeUnit(worker, 3);
    ASSERT_TRUE(more.ok() && more.value());
    EXPECT_EQ(fixture_.purged.size() - before, worker == 0 ? 3u : 2u);
    more = fixture_.PurgeUnit(worker, 3);
    ASSERT_TRUE(more.ok());
    EXPECT_FALSE(more.value());
  }
  EXPECT_EQ(fixture_.manager().HistoryLength(), 0u);
  EXPECT_FALSE(fixture_.PurgeUnit(9, 10).value()) << "more workers than streams";
}

TEST_F(PurgeTest, OneUnitIsBounded) {
  for (uint64_t i = 0; i < 1000; ++i) {
    Txn txn;
    ASSERT_TRUE(fixture_.Write(&txn, 1, i).ok());
    ASSERT_TRUE(fixture_.manager().Commit(&txn, Durability::kBackground, true).ok());
  }
  ASSERT_TRUE(fixture_.PurgeUnit(0, 1).value());
  EXPECT_LT(fixture_.purged.size(), 300u);
  fixture_.Purge();
  EXPECT_EQ(fixture_.purged.size(), 1000u);
}

TEST_F(PurgeTest, EverythingAtOnce) {
  constexpr uint32_t kSessions = 4;
  constexpr uint32_t kCellsEach = UndoFixture::kCells / kSessions;
  const uint64_t seed = TestSeed();
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> records{0};
  std::vector<std::thread> sessions;
  for (uint32_t index = 0; index < kSessions; ++index) {
    sessions.emplace_back([&, index] {
      Random random(seed + index);
      std::vector<uint64_t> cells(kCellsEach);
      Txn txn;
      for (uint64_t round = 1; round <= 150; ++round) {
        std::vector<uint64_t> working = cells;
        if (random.OneIn(4)) fixture_.manager().OpenSnapshot(&txn);
        const uint64_t writes = random.Between(1, random.OneIn(20) ? 150 : 5);
        for (uint64_t i = 0; i < writes; ++i) {
          const auto cell = static_cast<uint32_t>(random.Below(kCellsEach));
          working[cell] = round * 1000 + i;
          ASSERT_TRUE(fixture_.Write(&txn, index * kCellsEach + cell, working[cell]).ok());
        }
        if (random.OneIn(4)) {
          ASSERT_TRUE(fixture_.manager().Rollback(&txn).ok());
        } else {
          const bool wait = random.OneIn(10);
          ASSERT_TRUE(fixture_.manager().Commit(&txn, Durability::kDurable, wait).ok());
          cells = working;
          records.fetch_add(writes);
        }
      }
      for (uint32_t cell = 0; cell < kCellsEach; ++cell) {
        ASSERT_EQ(fixture_.Cell(index * kCellsEach + cell), cells[cell]);
      }
    });
  }
  std::vector<std::thread> others;
  for (uint32_t worker = 0; worker < 2; ++worker) {
    others.emplace_back([&, worker] {
      while (!stop.load()) ASSERT_TRUE(fixture_.PurgeUnit(worker, 2).ok());
    });
  }
  others.emplace_back([&] {
    while (!stop.load()) {
      for (const TxnInfo& info : fixture_.manager().Describe()) ASSERT_NE(info.id, kNoTxn);
      ASSERT_TRUE(UndoCheck(&fixture_.undo()).Run().ok());
      std::this_thread::yield();
    }
  });
  for (std::thread& session : sessions) session.join();
  stop.store(true);
  for (std::thread& other : others) other.join();
  fixture_.Purge();
  EXPECT_EQ(fixture_.purged.size(), records.load());
  EXPECT_EQ(fixture_.manager().HistoryLength(), 0u);
  EXPECT_EQ(fixture_.undo().Statistics().pages, fixture_.undo().stream_count());
  fixture_.CheckAll();
}

}  // namespace
}  // namespace rowan
