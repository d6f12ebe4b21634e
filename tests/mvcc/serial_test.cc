// SPDX-License-Identifier: GPL-2.0-only
// Optimistic serializable transactions: who is rolled back, and who is not.
#include <thread>

#include "base/random.h"
#include "tests/mvcc/serial_fixture.h"

namespace rowan::serial_test {
namespace {

using Model = std::map<uint32_t, uint32_t>;

class SerialTest : public SerialFixture {};

TEST_F(SerialTest, OneOfTwoThatSkewCommits) {
  Fill({{1, 0}, {2, 0}});
  auto one = NewActor();
  auto two = NewActor();
  for (Actor* actor : {one.get(), two.get()}) {
    EXPECT_EQ(ScanOk(actor, {.kind = OpKind::kScan, .high = 3, .limit = 5}).size(), 6u);
  }
  ASSERT_TRUE(Put(one.get(), 1, 1).ok());
  ASSERT_TRUE(Put(two.get(), 2, 1).ok()) << "nobody waits";
  ASSERT_TRUE(fixture_.Commit(one.get()).ok());
  EXPECT_TRUE(fixture_.Commit(two.get()).Is(Code::kDeadlock));
  ASSERT_TRUE(fixture_.Rollback(two.get()).ok());
  Begin(two.get());
  ASSERT_TRUE(Put(two.get(), 2, 1).ok());
  ASSERT_TRUE(fixture_.Commit(two.get()).ok()) << "the next try";
}

TEST_F(SerialTest, APreparedTransactionCanCommitWhateverOthersDo) {
  Fill({{1, 0}, {2, 0}});
  auto one = NewActor();
  auto two = NewActor();
  std::optional<TestRow> row;
  ASSERT_TRUE(Read(one.get(), 1, &row).ok());
  ASSERT_TRUE(Put(one.get(), 2, 1).ok());
  ASSERT_TRUE(manager()->Prepare(&one->txn, AsBytes("xid")).ok());
  // It reads what the prepared one wrote over, and writes over what that one read.
  ASSERT_TRUE(Read(two.get(), 2, &row).ok());
  EXPECT_TRUE(Put(two.get(), 1, 1).Is(Code::kDeadlock));
  ASSERT_TRUE(fixture_.Rollback(two.get()).ok());
  EXPECT_TRUE(fixture_.Commit(one.get()).ok());
}

/// T2 reads 1 and 2; T3 changes 2 and commits; T1 reads both; T2 changes 1 (Fekete's example).
TEST_F(SerialTest, AReaderAloneMakesACircle) {
  for (const bool reads : {false, true}) {
    Fill({{10, 0}, {11, 0}});
    auto two = NewActor();
    auto three = NewActor();
    std::optional<TestRow> row;
    for (const uint32_t id : {10u, 11u}) ASSERT_TRUE(Read(two.get(), id, &row).ok());
    ASSERT_TRUE(Put(three.get(), 11, 2).ok());
    ASSERT_TRUE(fixture_.Commit(three.get()).ok());
    if (reads) {
      auto one = NewActor(true);
      EXPECT_NE(one->txn.serial, nullptr);
      for (const uint32_t id : {10u, 11u}) ASSERT_TRUE(Read(one.get(), id, &row).ok());
      ASSERT_TRUE(fixture_.Commit(one.get()).ok()) << "who only reads is not rolled back";
    }
    const Status put = Put(two.get(), 10, 3);
    const Status status = put.ok() ? fixture_.Commit(two.get()) : put;
    EXPECT_EQ(status.ok(), !reads) << "without the reader there is no circle";
    if (!status.ok()) {
      ASSERT_TRUE(fixture_.Rollback(two.get()).ok());
    }
    auto cleaner = NewActor();
    for (const uint32_t id : {10u, 11u}) {
      ASSERT_TRUE(Read(cleaner.get(), id, &row).ok());
      ASSERT_TRUE(fixture_.Delete(cleaner.get(), id, *row).ok());
    }
    ASSERT_TRUE(fixture_.Commit(cleaner.get()).ok());
    fixture_.Purge();
  }
}

TEST_F(SerialTest, ReadOnlyTransactionsBecomeSafe) {
  Fill({{1, 0}, {2, 0}});
  std::optional<TestRow> row;
  {
    auto reader = NewActor(true);
    EXPECT_EQ(reader->txn.serial, nullptr) << "nobody writes";
    ASSERT_TRUE(Read(reader.get(), 1, &row).ok());
    ASSERT_TRUE(fixture_.Commit(reader.get()).ok());
  }
  auto writer = NewActor();
  auto reader = NewActor(true);
  ASSERT_TRUE(Read(reader.get(), 1, &row).ok());
  EXPECT_NE(reader->txn.serial, nullptr);
  ASSERT_TRUE(Put(writer.get(), 1, 1).ok());
  ASSERT_TRUE(fixture_.Commit(writer.get()).ok());
  ASSERT_TRUE(Read(reader.get(), 2, &row).ok());
  EXPECT_EQ(reader->txn.serial, nullptr) << "the writer saw what the snapshot shows";
  EXPECT_EQ(manager()->serial()->size(), 0u);
  ASSERT_TRUE(fixture_.Commit(reader.get()).ok());
}

TEST_F(SerialTest, WhatAScanDidNotReachMayBeWritten) {
  Model rows;
  for (uint32_t id = 0; id < 1000; id += 10) rows[id] = id;
  Fill(rows);
  const Op first{.kind = OpKind::kScan, .low = 100, .high = 900, .limit = 3};
  const Op last{.kind = OpKind::kScanBack, .low = 100, .high = 900, .limit = 3};
  for (const Op& op : {first, last}) {
    const bool back = op.kind == OpKind::kScanBack;
    for (const auto& [inside, id] :
         {std::pair(false, back ? 865u : 121u), std::pair(true, back ? 875u : 119u)}) {
      auto one = NewActor();
      auto two = NewActor();
      std::optional<TestRow> row;
      ScanOk(one.get(), op);
      ASSERT_TRUE(Read(two.get(), 50, &row).ok());
      ASSERT_TRUE(Put(one.get(), 50, 7).ok());
      ASSERT_TRUE(Put(two.get(), id, 7).ok());
      ASSERT_TRUE(fixture_.Commit(one.get()).ok());
      EXPECT_EQ(fixture_.Commit(two.get()).ok(), !inside) << id;
      ASSERT_TRUE(fixture_.Rollback(two.get()).ok());
    }
  }
}

TEST_F(SerialTest, ScatteredReadsLeaveWhatIsBetweenThemAlone) {
  Model rows;
  for (uint32_t id = 0; id < 3000; id += 2) rows[id] = id;
  Fill(rows);
  for (const uint32_t id : {1u, 17u, 1000u, 2999u}) {
    auto one = NewActor();
    auto two = NewActor();
    std::optional<TestRow> row;
    for (uint32_t read = 0; read < 3000; read += 4) ASSERT_TRUE(Read(one.get(), read, &row).ok());
    EXPECT_TRUE(manager()->serial()->Check());
    ASSERT_TRUE(Read(two.get(), 4999, &row).ok());
    ASSERT_TRUE(Put(one.get(), 4999, id).ok());
    ASSERT_TRUE(Put(two.get(), id, 1).ok());
    ASSERT_TRUE(fixture_.Commit(one.get()).ok());
    EXPECT_EQ(Commits(two.get()), id != 1000) << id;
  }
}

/// A scan under way is in nobody's way beyond the leaf that it stands in.
TEST_F(SerialTest, WhatAScanHasNotReachedMayBeWritten) {
  Model rows;
  for (uint32_t id = 0; id < 3000; ++id) rows[id] = id;
  Fill(rows);
  for (const OpKind kind : {OpKind::kScan, OpKind::kScanBack}) {
    const bool back = kind == OpKind::kScanBack;
    for (const bool inside : {false, true}) {
      auto one = NewActor();
      auto two = NewActor();
      std::optional<TestRow> row;
      VersionView view;
      const uint32_t other = 5000 + (back ? 1 : 0) + (inside ? 2 : 0);
      ASSERT_TRUE(StartScan(one.get(), {.kind = kind, .high = 3000}, &view).ok());
      ASSERT_TRUE(Read(two.get(), other, &row).ok());
      const uint32_t id = back ? (inside ? 2999 : 10) : (inside ? 0 : 2990);
      ASSERT_TRUE(Put(two.get(), id, 7).ok());
      one->cursor.Close();
      ASSERT_TRUE(Put(one.get(), other, 7).ok());
      ASSERT_TRUE(fixture_.Commit(one.get()).ok());
      EXPECT_EQ(Commits(two.get()), !inside) << back;
    }
  }
}

/// T2 reads 1, T3 changes it and commits, T1 begins, T2 puts a row where T1 looks, and commits;
/// then that row goes again. T1 must still learn of it.
TEST_F(SerialTest, WhatCameAndWentIsMet) {
  Fill({{1, 0}, {2, 0}});
  auto two = NewActor();
  auto three = NewActor();
  std::optional<TestRow> row;
  ASSERT_TRUE(Read(two.get(), 1, &row).ok());
  ASSERT_TRUE(Put(three.get(), 1, 1).ok());
  ASSERT_TRUE(fixture_.Commit(three.get()).ok());
  auto one = NewActor();
  ASSERT_TRUE(Read(one.get(), 2, &row).ok());
  ASSERT_TRUE(Put(two.get(), 50, 1).ok());
  ASSERT_TRUE(fixture_.Commit(two.get()).ok());
  auto four = NewActor();
  ASSERT_TRUE(Read(four.get(), 50, &row).ok());
  ASSERT_TRUE(fixture_.Delete(four.get(), 50, *row).ok());
  ASSERT_TRUE(fixture_.Commit(four.get()).ok());
  fixture_.Purge();
  Seen seen;
  EXPECT_TRUE(Scan(one.get(), {.kind = OpKind::kScan, .low = 40, .high = 60, .limit = 9}, &seen)
                  .Is(Code::kDeadlock));
}

TEST_F(SerialTest, WithoutMemoryTheOldestGivesWay) {
  Fill({{1, 0}, {2, 0}, {3, 0}});
  manager()->SetLockMemoryMax(1);
  auto old = NewActor();
  std::optional<TestRow> row;
  ASSERT_TRUE(Read(old.get(), 1, &row).ok());
  auto young = NewActor();
  ASSERT_TRUE(Read(young.get(), 2, &row).ok());
  ASSERT_TRUE(fixture_.Commit(young.get()).ok());
  EXPECT_TRUE(Put(old.get(), 3, 1).Is(Code::kDeadlock));
  ASSERT_TRUE(fixture_.Rollback(old.get()).ok());
  EXPECT_EQ(manager()->serial()->size(), 0u);
}

/// Two reads 1, which one changes; one takes the unique value that two had for a while.
TEST_F(SerialTest, AUniqueValueThatCameAndWentWasSeen) {
  Fill({{1, 0}, {2, 0}});
  for (const bool by_another : {false, true}) {
    const uint32_t value = by_another ? 6 : 5;
    auto one = NewActor();
    auto two = NewActor();
    std::optional<TestRow> row;
    ASSERT_TRUE(Read(one.get(), 1, &row).ok());
    ASSERT_TRUE(
        DoOne(two.get(),
              {.kind = by_another ? OpKind::kPutB : OpKind::kTurnB, .low = 2, .value = value})
            .ok());
    if (by_another) {
      ASSERT_TRUE(Commits(two.get()));
      Begin(two.get());
      ASSERT_TRUE(DoOne(two.get(), {.kind = OpKind::kPutB, .low = 2, .value = 102}).ok());
    }
    ASSERT_TRUE(Put(two.get(), 1, row->a + 1).ok());
    ASSERT_TRUE(Commits(two.get()));
    fixture_.Purge();
    const Status put = DoOne(one.get(), {.kind = OpKind::kPutB, .low = 9, .value = value});
    EXPECT_FALSE(put.ok() && Commits(one.get())) << by_another;
    ASSERT_TRUE(fixture_.Rollback(one.get()).ok());
  }
}

/// The same where two went back to a savepoint: nothing of the value, or of the key, is left.
TEST_F(SerialTest, WhatWasInsertedAndUndoneWasSeenToBeFree) {
  Fill({{1, 0}, {2, 0}});
  for (const uint32_t value : {5u, 6u}) {
    auto one = NewActor();
    auto two = NewActor();
    std::optional<TestRow> row;
    ASSERT_TRUE(Read(one.get(), 1, &row).ok());
    const uint32_t id = value == 5 ? 8 : 9;
    ASSERT_TRUE(DoOne(two.get(), {.kind = OpKind::kUndoneInsert, .low = id, .value = value}).ok());
    ASSERT_TRUE(Put(two.get(), 1, row->a + 1).ok());
    ASSERT_TRUE(Commits(two.get()));
    const uint32_t inserted = value == 5 ? 5 : 7;  // the same value, or the same key
    const Status put = DoOne(one.get(), {.kind = OpKind::kPutB, .low = 9, .value = inserted});
    EXPECT_FALSE(put.ok() && Commits(one.get())) << value;
    ASSERT_TRUE(fixture_.Rollback(one.get()).ok());
  }
}

/// Three changes 50 and four changes it back, where a locking read finds nothing before and after:
/// it comes after three, which looked for its row, and before four, which changed what it read.
TEST_F(SerialTest, ALockingReadMeetsWhatCameAndWent) {
  Fill({{1, 0}, {2, 0}, {50, 1}});
  auto one = NewActor();
  std::optional<TestRow> row;
  ASSERT_TRUE(Read(one.get(), 2, &row).ok());
  auto three = NewActor();
  ASSERT_TRUE(Read(three.get(), 60, &row).ok());
  ASSERT_TRUE(Put(three.get(), 50, 7).ok());
  ASSERT_TRUE(Commits(three.get()));
  auto four = NewActor();
  ASSERT_TRUE(Put(four.get(), 50, 1).ok());
  ASSERT_TRUE(Put(four.get(), 2, 5).ok());
  ASSERT_TRUE(Commits(four.get()));
  Seen seen;
  Status status =
      Scan(one.get(), {.kind = OpKind::kLockedScanA, .low = 7, .high = 8, .limit = 9}, &seen);
  EXPECT_TRUE(seen.empty());
  if (status.ok()) status = Put(one.get(), 60, 1);
  EXPECT_FALSE(status.ok() && Commits(one.get()));
  ASSERT_TRUE(fixture_.Rollback(one.get()).ok());
}

/// Of one that only read, what it was promised counts as well.
TEST_F(SerialTest, APreparedReaderCanCommitWhateverOthersDo) {
  Fill({{1, 0}, {2, 0}});
  auto one = NewActor();
  auto two = NewActor();
  std::optional<TestRow> row;
  ASSERT_TRUE(Read(one.get(), 1, &row).ok());
  ASSERT_TRUE(manager()->Prepare(&one->txn, AsBytes("xid")).ok());
  manager()->SetLockMemoryMax(1);
  ASSERT_TRUE(Read(two.get(), 2, &row).ok());
  ASSERT_TRUE(fixture_.Commit(two.get()).ok());
  EXPECT_TRUE(fixture_.Commit(one.get()).ok());
}

/// Of each pair of rows at most one is 1: a rule that only serializable transactions keep.
TEST_F(SerialTest, ManyThreadsKeepTheRule) {
  constexpr uint32_t kPairs = 4;
  Model rows;
  for (uint32_t id = 0; id < 2 * kPairs; ++id) rows[id] = 0;
  Fill(rows);
  std::atomic<uint32_t> committed{0};
  const auto work = [&](uint64_t seed) {
    Random random(seed);
    Actor actor(manager());
    for (int i = 0; i < 400; ++i) {
      const auto id = static_cast<uint32_t>(random.Below(2 * kPairs));
      Begin(&actor, false);
      actor.txn.locks.wait_timeout_s = 1000;  // deadlocks are found, not waited for
      std::optional<TestRow> mine;
      std::optional<TestRow> other;
      Status status = Read(&actor, id, &mine);
      if (status.ok()) status = Read(&actor, id ^ 1, &other);
      if (status.ok()) {
        TestRow changed = *mine;
        changed.a = mine->a == 1 || other->a == 1 ? 0 : 1;
        status = fixture_.Update(&actor, id, *mine, changed);
      }
      if (status.ok()) status = fixture_.Commit(&actor);
      if (status.ok()) {
        committed.fetch_add(1);
        continue;
      }
      EXPECT_TRUE(status.Is(Code::kDeadlock)) << CodeName(status.code());
      EXPECT_TRUE(fixture_.Rollback(&actor).ok());
    }
  };
  const auto watch = [&] {
    Actor actor(manager());
    for (int i = 0; i < 200; ++i) {
      Begin(&actor, true);
      Seen seen;
      const Status status =
          Scan(&actor, {.kind = OpKind::kScan, .high = 2 * kPairs, .limit = 2 * kPairs}, &seen);
      EXPECT_TRUE(status.ok() || status.Is(Code::kDeadlock));
      for (size_t pair = 0; status.ok() && pair < kPairs; ++pair) {
        EXPECT_FALSE(seen[6 * pair + 1] == 1 && seen[6 * pair + 4] == 1);
      }
      EXPECT_TRUE(status.ok() ? fixture_.Commit(&actor).ok() : fixture_.Rollback(&actor).ok());
    }
  };
  std::vector<std::thread> threads;
  for (uint64_t seed = 1; seed <= 4; ++seed) threads.emplace_back(work, seed);
  threads.emplace_back(watch);
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(committed.load(), 100u);
  EXPECT_EQ(manager()->serial()->size(), 0u);
  EXPECT_EQ(manager()->serial()->memory_bytes(), 0u);
}

}  // namespace
}  // namespace rowan::serial_test
