// SPDX-License-Identifier: GPL-2.0-only
// Sessions, purge workers, snapshots and observers at the same time; and how purge shares its work.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
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

/// Fails the purge of cell 9, as of a table that cannot be opened just now.
Status AllButCell9(const UndoRecordCopy& record) {
  return LoadLe<uint32_t>(record.payload.data()) == 9 ? Status(Code::kIoError) : Status::Ok();
}

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

TEST_F(PurgeTest, WorkersShareALargeTransaction) {
  constexpr uint64_t kRecords = 6000;
  Txn txn;
  for (uint64_t i = 0; i < kRecords; ++i) {
    ASSERT_TRUE(fixture_.Write(&txn, static_cast<uint32_t>(i % 400), i + 1).ok());
  }
  ASSERT_TRUE(fixture_.manager().Commit(&txn, Durability::kBackground, true).ok());
  // Whoever has the stream waits in the middle of it until another worker has come to help.
  std::atomic<uint64_t> records{0};
  std::atomic<uint64_t> by_helper{0};
  thread_local bool is_helper = false;
  fixture_.on_purge = [&] {
    if (is_helper) by_helper.fetch_add(1);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (records.fetch_add(1) >= kRecords / 2 && by_helper.load() == 0) {
      records.fetch_sub(1);
      if (std::chrono::steady_clock::now() > end) break;
      std::this_thread::yield();
    }
  };
  std::thread helper([&] {
    is_helper = true;
    while (fixture_.manager().HistoryLength() != 0) ASSERT_TRUE(fixture_.PurgeUnit(1, 2).ok());
  });
  while (fixture_.manager().HistoryLength() != 0) {
    ASSERT_TRUE(fixture_.PurgeUnit(0, 2).ok());
  }
  helper.join();
  fixture_.on_purge = {};
  EXPECT_GT(by_helper.load(), 0u);
  EXPECT_EQ(fixture_.purged.size(), kRecords) << "each once";
  const std::set<std::string> different(fixture_.purged.begin(), fixture_.purged.end());
  EXPECT_EQ(different.size(), kRecords);
  EXPECT_EQ(fixture_.undo().Statistics().pages, fixture_.undo().stream_count());
  fixture_.CheckAll();
}

TEST_F(PurgeTest, HelpersThatStopAnywhereLeaveNothingOut) {
  constexpr uint64_t kRecords = 6000;
  Txn txn;
  for (uint64_t i = 0; i < kRecords; ++i) {
    ASSERT_TRUE(fixture_.Write(&txn, static_cast<uint32_t>(i % 400), i + 1).ok());
  }
  ASSERT_TRUE(fixture_.manager().Commit(&txn, Durability::kBackground, true).ok());
  std::vector<std::thread> workers;
  for (uint32_t worker = 0; worker < 4; ++worker) {
    workers.emplace_back([&, worker] {
      Random random(TestSeed() + worker);
      while (fixture_.manager().HistoryLength() != 0) {
        ASSERT_TRUE(fixture_.PurgeUnit(worker, 4, random.Between(1, 700)).ok());
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
  // Behind a gap records come again, which is harmless.
  const std::set<std::string> different(fixture_.purged.begin(), fixture_.purged.end());
  EXPECT_EQ(different.size(), kRecords);
  EXPECT_EQ(fixture_.undo().Statistics().pages, fixture_.undo().stream_count());
  fixture_.CheckAll();
}

TEST_F(PurgeTest, WritersWaitWhilePurgeFallsBehind) {
  constexpr uint64_t kStep = 100'000'000;  // nanoseconds
  PurgePressure pressure(&fixture_.undo(), 1000);
  const auto write = [&](uint64_t records) {
    Txn txn;
    for (uint64_t i = 0; i < records; ++i) ASSERT_TRUE(fixture_.Write(&txn, 1, i).ok());
    ASSERT_TRUE(fixture_.manager().Commit(&txn, Durability::kBackground, true).ok());
  };
  const auto look = [&](uint64_t step) {
    fixture_.manager().RefreshHorizon();
    pressure.Update(fixture_.manager().PurgeHorizon(), step * kStep);
    return pressure.delay_us();
  };
  write(900);
  EXPECT_EQ(look(1), 0u) << "within the limit";
  write(1100);
  const uint32_t first = look(2);
  EXPECT_NE(first, 0u);
  EXPECT_EQ(pressure.lag(), 2000u);
  EXPECT_EQ(fixture_.undo().WriterDelays(), 0u);
  write(1100);
  EXPECT_NE(fixture_.undo().WriterDelays(), 0u) << "for each page of undo";
  const uint32_t second = look(3);
  EXPECT_GT(second, first) << "it still grows";
  ASSERT_TRUE(fixture_.PurgeUnit(0, 1, 500).ok());
  EXPECT_LT(look(4), second) << "it shrinks";
  fixture_.Purge();
  EXPECT_EQ(look(5), 0u);
  EXPECT_EQ(pressure.lag(), 0u);
  for (uint64_t step = 6; step < 20; ++step) {
    write(200);
    look(step);
  }
  EXPECT_LE(pressure.delay_us(), 100'000u);
}

TEST_F(PurgeTest, WhatAnOldSnapshotKeepsDelaysNobody) {
  PurgePressure pressure(&fixture_.undo(), 100);
  Txn reader;
  reader.thread.store(42);
  fixture_.manager().OpenSnapshot(&reader);
  Txn txn;
  for (uint64_t i = 0; i < 1000; ++i) ASSERT_TRUE(fixture_.Write(&txn, 1, i).ok());
  ASSERT_TRUE(fixture_.manager().Commit(&txn, Durability::kBackground, true).ok());
  fixture_.Purge();
  pressure.Update(fixture_.manager().PurgeHorizon(), 1'000'000'000);
  EXPECT_EQ(pressure.lag(), 0u);
  EXPECT_EQ(pressure.kept(), 1000u);
  EXPECT_EQ(pressure.delay_us(), 0u);
  const OldestSnapshot oldest = fixture_.manager().DescribePurge().oldest_snapshot;
  EXPECT_TRUE(oldest.open);
  EXPECT_EQ(oldest.thread, 42u);
  ASSERT_TRUE(fixture_.manager().Commit(&reader, Durability::kBackground, true).ok());
  EXPECT_FALSE(fixture_.manager().DescribePurge().oldest_snapshot.open);
  fixture_.Purge();
  pressure.Update(fixture_.manager().PurgeHorizon(), 2'000'000'000);
  EXPECT_EQ(pressure.kept(), 0u);
}

TEST_F(PurgeTest, WhatCannotBePurgedDelaysNobodyAndIsCountedApart) {
  PurgePressure pressure(&fixture_.undo(), 100);
  uint64_t now_nanos = 0;
  const auto look = [&] {
    fixture_.manager().RefreshHorizon();
    pressure.Update(fixture_.manager().PurgeHorizon(), now_nanos += 1'000'000'000);
  };
  {
    Txn blocked;
    Txn other;
    for (uint64_t i = 0; i < 2000; ++i) ASSERT_TRUE(fixture_.Write(&blocked, 9, i).ok());
    for (uint64_t i = 0; i < 300; ++i) ASSERT_TRUE(fixture_.Write(&other, 1, i).ok());
    ASSERT_TRUE(fixture_.manager().Commit(&blocked, Durability::kBackground, true).ok());
    ASSERT_TRUE(fixture_.manager().Commit(&other, Durability::kBackground, true).ok());
  }
  look();
  EXPECT_EQ(pressure.lag(), 2300u);
  EXPECT_NE(pressure.delay_us(), 0u);
  // As of a table that cannot be opened just now.
  fixture_.may_purge = AllButCell9;
  for (int unit = 0; unit < 10; ++unit) fixture_.PurgeUnit(0, 1).status().Ignore();
  EXPECT_EQ(fixture_.purged.size(), 300u) << "the other stream goes on";
  look();
  EXPECT_EQ(pressure.lag(), 0u);
  EXPECT_EQ(pressure.blocked(), 2000u);
  EXPECT_EQ(pressure.delay_us(), 0u);
  fixture_.may_purge = {};
  fixture_.Purge();
  look();
  EXPECT_EQ(pressure.blocked(), 0u);
  EXPECT_EQ(pressure.kept(), 0u);
}

TEST(PurgeBlockedTest, NothingIsBlockedOncePurgeGetsOnWithALargeTransaction) {
  constexpr uint64_t kRecords = 4000;
  constexpr uint64_t kUnit = 300;  // four pages alone, then shared ones
  for (const uint64_t good : {2 * kUnit, 3 * kUnit - 10}) {
    UndoFixture fixture(TestSeed(), 4096);
    fixture.Create();
    Txn txn;
    for (uint64_t i = 0; i < kRecords; ++i) {
      ASSERT_TRUE(fixture.Write(&txn, static_cast<uint32_t>(i % 400), i + 1).ok());
    }
    ASSERT_TRUE(fixture.manager().Commit(&txn, Durability::kBackground, true).ok());
    fixture.may_purge = [&](const UndoRecordCopy&) {
      return fixture.purged.size() >= good ? Status(Code::kIoError) : Status::Ok();
    };
    for (int unit = 0; unit < 5; ++unit) fixture.PurgeUnit(0, 1, kUnit).status().Ignore();
    EXPECT_EQ(fixture.purged.size(), good);
    UndoStreams::Backlog backlog = fixture.undo().FindBacklog(Csn(UINT64_MAX));
    EXPECT_EQ(backlog.blocked, kRecords - good);
    fixture.may_purge = {};
    while (fixture.manager().HistoryLength() != 0) {
      ASSERT_TRUE(fixture.PurgeUnit(0, 1, kUnit).ok());
      backlog = fixture.undo().FindBacklog(Csn(UINT64_MAX));
      EXPECT_EQ(backlog.blocked, 0u);
      EXPECT_EQ(backlog.kept, kRecords - fixture.purged.size());
      EXPECT_EQ(backlog.purgeable, backlog.kept);
    }
    EXPECT_EQ(fixture.purged.size(), kRecords);
  }
}

TEST_F(PurgeTest, AFailingStreamIsToldOfOnceWhileOthersGoOn) {
  constexpr uint64_t kShort = 1000;
  {
    Txn blocked;
    Txn other;
    ASSERT_TRUE(fixture_.Write(&blocked, 9, 1).ok());
    for (uint64_t i = 0; i < kShort; ++i) {
      ASSERT_TRUE(fixture_.Write(&other, 1, i).ok());
      ASSERT_TRUE(fixture_.manager().Commit(&other, Durability::kBackground, true).ok());
    }
    ASSERT_TRUE(fixture_.manager().Commit(&blocked, Durability::kBackground, true).ok());
  }
  fixture_.may_purge = AllButCell9;
  uint64_t failures = 0;
  while (fixture_.purged.size() < kShort) {
    const size_t before = fixture_.purged.size();
    const Result<bool> more = fixture_.PurgeUnit(0, 1);
    failures += more.ok() ? 0 : 1;
    EXPECT_TRUE(!more.ok() || more.value());
    ASSERT_GT(fixture_.purged.size(), before);
  }
  EXPECT_EQ(failures, 1u) << "the worker would wait behind each";
  EXPECT_TRUE(fixture_.PurgeUnit(0, 1).status().Is(Code::kIoError));
  fixture_.may_purge = {};
  fixture_.Purge();
  EXPECT_EQ(fixture_.manager().HistoryLength(), 0u);
}

TEST_F(PurgeTest, AFailingStreamDoesNotKeepOthersFromLookingAhead) {
  fixture_.old_snapshot_ms = 0;
  ASSERT_TRUE(fixture_.Start().ok());
  Txn reader;
  {
    Txn blocked;
    Txn other;
    ASSERT_TRUE(fixture_.Write(&blocked, 9, 1).ok());
    for (uint64_t i = 0; i < 20; ++i) ASSERT_TRUE(fixture_.Write(&other, 1, i).ok());
    ASSERT_TRUE(fixture_.manager().Commit(&blocked, Durability::kBackground, true).ok());
    fixture_.manager().OpenSnapshot(&reader);
    ASSERT_TRUE(fixture_.manager().Commit(&other, Durability::kBackground, true).ok());
  }
  fixture_.may_purge = AllButCell9;
  EXPECT_TRUE(fixture_.PurgeUnit(0, 1).status().Is(Code::kIoError));
  EXPECT_EQ(fixture_.looked_ahead.load(), 20u);
  ASSERT_TRUE(fixture_.manager().Commit(&reader, Durability::kBackground, true).ok());
}

TEST_F(PurgeTest, AHelperThatFailsWithOneTransactionHelpsWithTheNext) {
  constexpr uint64_t kRecords = 6000;
  constexpr uint32_t kStreams = 2;
  {
    std::array<Txn, kStreams> txns;
    for (uint64_t i = 0; i < kRecords; ++i) {
      for (uint32_t n = 0; n < kStreams; ++n) {
        const auto cell = static_cast<uint32_t>(n * 200 + i % 200);
        ASSERT_TRUE(fixture_.Write(&txns.at(n), cell, i + 1).ok());
      }
    }
    for (uint32_t n = 0; n < kStreams; ++n) {
      ASSERT_EQ(txns.at(n).undo.stream->number, n);
      ASSERT_TRUE(fixture_.manager().Commit(&txns.at(n), Durability::kBackground, true).ok());
    }
  }
  // Whoever has a stream waits inside of its window until the helper is through with both.
  thread_local bool is_helper = false;
  std::array<std::atomic<bool>, kStreams> waits{};
  std::atomic<bool> helper_is_through{false};
  std::atomic<uint64_t> by_helper{0};
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  const auto wait_for = [&](const std::atomic<bool>& sign) {
    while (!sign.load() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  };
  fixture_.may_purge = [&](const UndoRecordCopy& record) {
    const uint32_t n = LoadLe<uint32_t>(record.payload.data()) / 200;
    if (is_helper) {
      if (n == 0) return Status(Code::kIoError);
      by_helper.fetch_add(1);
    } else if (fixture_.undo().At(n)->window.open()) {
      waits.at(n).store(true);
      wait_for(helper_is_through);
    }
    return Status::Ok();
  };
  std::vector<std::thread> owners;
  for (uint32_t n = 0; n < kStreams; ++n) {
    owners.emplace_back([&, n] { ASSERT_TRUE(fixture_.PurgeUnit(n, kStreams + 1).ok()); });
  }
  for (const std::atomic<bool>& sign : waits) wait_for(sign);
  is_helper = true;
  const Result<bool> more = fixture_.PurgeUnit(kStreams, kStreams + 1, 100);
  is_helper = false;
  helper_is_through.store(true);
  for (std::thread& owner : owners) owner.join();
  EXPECT_TRUE(more.ok() && more.value());
  EXPECT_EQ(by_helper.load(), 99u) << "all the budget but one";
  fixture_.may_purge = {};
  fixture_.Purge();
  EXPECT_EQ(fixture_.undo().FindBacklog(Csn(UINT64_MAX)).kept, 0u);
  EXPECT_EQ(fixture_.purged.size(), kStreams * kRecords);
  fixture_.CheckAll();
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
