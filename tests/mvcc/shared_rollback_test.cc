// SPDX-License-Identifier: GPL-2.0-only
// Several workers that roll one transaction back: each record once, those of a row newest first,
// wherever they stop, and after power cuts too.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

#include "base/logging.h"
#include "base/random.h"
#include "tests/mvcc/undo_fixture.h"

namespace rowan::shared_rollback_test {
namespace {

constexpr uint32_t kPageBytes = 4096;
constexpr uint32_t kCells = UndoFixture::kCells;

/// Workers of a rollback, until it is through or the power is gone.
bool RollBack(UndoFixture* fixture, uint32_t workers, uint64_t records_max) {
  std::atomic<bool> failed{false};
  std::vector<std::thread> threads;
  for (uint32_t worker = 0; worker < workers; ++worker) {
    threads.emplace_back([&, worker] {
      Random random(TestSeed() + worker);
      while (!failed && fixture->manager().LoserCount() != 0) {
        const bool ok = fixture->RollbackUnit(random.Between(1, records_max)).ok() &&
                        (random.OneIn(3) || fixture->manager().MakeDurable().ok());
        if (!ok) failed = true;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return !failed;
}

class SharedRollbackTest : public ::testing::Test {
 protected:
  SharedRollbackTest() : fixture_(1, kPageBytes) {
    fixture_.records_alone = 10;
    fixture_.Create();
  }

  /// Writes cells in turn, one in `again` of a few that come again and again (0: none): a loser of
  /// the next start.
  void WriteAndStart(uint64_t records, uint64_t again = 40) {
    Random random(TestSeed());
    Txn txn;
    for (uint64_t i = 0; i < records; ++i) {
      const uint64_t cell = again != 0 && random.OneIn(again) ? random.Below(5) : i % kCells;
      ASSERT_TRUE(fixture_.Write(&txn, static_cast<uint32_t>(cell), i + 1).ok());
    }
    ASSERT_TRUE(fixture_.manager().MakeDurable().ok());
    ASSERT_TRUE(fixture_.Start(true).ok());
    ASSERT_EQ(fixture_.manager().LoserCount(), 1u);
  }

  /// Notes what is undone: in each cell older and older values.
  void WatchOrder() {
    oldest_.fill(UINT64_MAX);
    fixture_.on_undo = [this](const UndoRecordCopy& record) {
      const std::lock_guard lock(mutex_);
      const auto cell = LoadLe<uint32_t>(record.payload.data());
      const auto value = LoadLe<uint64_t>(record.payload.data() + 4);
      EXPECT_LT(value, oldest_[cell]) << "cell " << cell;
      oldest_[cell] = value;
      ++undone_;
      return Status::Ok();
    };
  }

  void ExpectNothingLeft() {
    for (uint32_t cell = 0; cell < kCells; ++cell) EXPECT_EQ(fixture_.Cell(cell), 0u) << cell;
    EXPECT_EQ(fixture_.manager().LoserCount(), 0u);
    EXPECT_EQ(fixture_.undo().Statistics().pages, fixture_.undo().stream_count());
    fixture_.CheckAll();
  }

  UndoFixture fixture_;
  std::mutex mutex_;
  std::array<uint64_t, kCells> oldest_{};
  uint64_t undone_ = 0;
};

TEST_F(SharedRollbackTest, EachRecordIsUndoneOnceWhereverWorkersStop) {
  constexpr uint64_t kRecords = 6000;
  for (const uint64_t records_max : {3u, 40u, 3000u}) {
    WriteAndStart(kRecords);
    WatchOrder();
    undone_ = 0;
    EXPECT_TRUE(RollBack(&fixture_, 4, records_max));
    EXPECT_EQ(undone_, kRecords);
    fixture_.on_undo = {};
    ExpectNothingLeft();
  }
}

TEST_F(SharedRollbackTest, WorkersShareOneTransaction) {
  constexpr uint64_t kRecords = 6000;
  // The newest pages have no cell in common, so that several can be handed out.
  WriteAndStart(kRecords, 0);
  // Whoever comes first waits in the middle until another one has undone something, too.
  std::atomic<uint64_t> records{0};
  std::atomic<std::thread::id> first{};
  std::atomic<uint64_t> by_others{0};
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  fixture_.on_undo = [&](const UndoRecordCopy& /*record*/) {
    std::thread::id none{};
    if (!first.compare_exchange_strong(none, std::this_thread::get_id()) &&
        none != std::this_thread::get_id()) {
      by_others.fetch_add(1);
    }
    if (records.fetch_add(1) < 20) return Status::Ok();
    while (by_others.load() == 0 && std::chrono::steady_clock::now() < end) {
      std::this_thread::yield();
    }
    return Status::Ok();
  };
  EXPECT_TRUE(RollBack(&fixture_, 2, UINT32_MAX));
  EXPECT_GT(by_others.load(), 0u);
  fixture_.on_undo = {};
  ExpectNothingLeft();
}

TEST_F(SharedRollbackTest, WhatIsMarkedIsNotUndoneAgainAfterARestart) {
  constexpr uint64_t kRecords = 3000;
  WriteAndStart(kRecords);
  WatchOrder();
  // Restarts while marked and unmarked records stand beside each other; the order is kept through
  // all of them, and no record comes twice.
  for (uint32_t restarts = 0; fixture_.manager().LoserCount() != 0; ++restarts) {
    ASSERT_LT(restarts, kRecords);
    std::vector<std::thread> threads;
    for (uint64_t worker = 0; worker < 3; ++worker) {
      threads.emplace_back([&, worker] { ASSERT_TRUE(fixture_.RollbackUnit(50 + worker).ok()); });
    }
    for (std::thread& thread : threads) thread.join();
    fixture_.CheckAll();
    ASSERT_TRUE(fixture_.manager().MakeDurable().ok());
    ASSERT_TRUE(fixture_.Start(true).ok());
  }
  EXPECT_EQ(undone_, kRecords);
  fixture_.on_undo = {};
  ExpectNothingLeft();
}

TEST_F(SharedRollbackTest, WhatMustBeAloneIsBehindAllYoungerAndBeforeAllOlder) {
  Txn txn;
  uint64_t value = 0;
  for (int round = 0; round < 6; ++round) {
    for (uint32_t i = 0; i < 300; ++i) ASSERT_TRUE(fixture_.Write(&txn, i, ++value).ok());
    ASSERT_TRUE(fixture_.LogDrop(&txn, UndoType::kExtension, std::string(8, 'x')).ok());
  }
  ASSERT_TRUE(fixture_.manager().MakeDurable().ok());
  ASSERT_TRUE(fixture_.Start(true).ok());
  std::atomic<uint64_t> undone{0};
  fixture_.on_undo = [&](const UndoRecordCopy& record) {
    if (record.type == UndoType::kExtension) {
      EXPECT_EQ(undone.load() % 301, 0u) << "not in its place";
    }
    undone.fetch_add(1);
    return Status::Ok();
  };
  EXPECT_TRUE(RollBack(&fixture_, 3, 500));
  fixture_.on_undo = {};
  ExpectNothingLeft();
}

TEST_F(SharedRollbackTest, DamageStopsAllWorkersAndIsMetAgain) {
  WriteAndStart(3000);
  SetLogSink([](LogLevel, std::string_view) {});
  fixture_.on_undo = [](const UndoRecordCopy& record) {
    const bool bad = LoadLe<uint64_t>(record.payload.data() + 4) == 1000;
    return bad ? Status(Code::kCorrupt) : Status::Ok();
  };
  RollBack(&fixture_, 3, 400);
  EXPECT_EQ(fixture_.manager().LoserCount(), 0u);
  ASSERT_EQ(fixture_.manager().Describe().size(), 1u) << "its rows stay locked";
  EXPECT_GT(fixture_.manager().Describe()[0].undo_records, 0u);
  fixture_.CheckAll();
  fixture_.on_undo = {};
  SetLogSink({});
  fixture_.manager().RetryFailedRollbacks();
  EXPECT_TRUE(RollBack(&fixture_, 3, 400));
  ExpectNothingLeft();
}

TEST_F(SharedRollbackTest, APowerCutAnywhere) {
  const uint64_t step = TestSetting("ROWAN_TEST_ROUNDS", 25) >= 1000 ? 1 : 13;
  SetLogSink([](LogLevel, std::string_view) {});
  bool done = false;
  for (uint64_t changes = 1; !done && !HasFailure(); changes += step) {
    SCOPED_TRACE(changes);
    UndoFixture fixture(TestSeed() + changes, kPageBytes);
    fixture.records_alone = 10;
    fixture.Create();
    {
      Txn txn;
      for (uint32_t i = 0; i < 300; ++i) {
        ASSERT_TRUE(fixture.Write(&txn, i * 8 % kCells + i / 250, i + 1).ok());
      }
      ASSERT_TRUE(fixture.manager().MakeDurable().ok());
      ASSERT_TRUE(fixture.Start(true).ok());
    }
    fixture.file_system().PowerOffAfter(changes);
    done = RollBack(&fixture, 2, 20);
    fixture.Kill();
    fixture.file_system().Crash(changes);
    const Status status = fixture.Start(true);
    ASSERT_TRUE(status.ok()) << status.message() << fixture.file_system().Describe();
    fixture.CheckAll();
    EXPECT_TRUE(RollBack(&fixture, 2, 100));
    for (uint32_t cell = 0; cell < kCells; ++cell) EXPECT_EQ(fixture.Cell(cell), 0u) << cell;
    EXPECT_EQ(fixture.undo().Statistics().pages, 1u);
    fixture.CheckAll();
  }
  SetLogSink({});
}

}  // namespace
}  // namespace rowan::shared_rollback_test
