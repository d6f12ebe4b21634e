// SPDX-License-Identifier: GPL-2.0-only
// What came and went while an old snapshot was open is removed before that snapshot is closed.
#include <gtest/gtest.h>

#include <functional>
#include <thread>

#include "base/random.h"
#include "tests/mvcc/row_fixture.h"

namespace rowan {
namespace {

constexpr uint32_t kId = 7;
const TestRow kFirst{1, 100, "first"};
const TestRow kSecond{2, 200, "second"};

class InvisibleVersionPurgeTest : public ::testing::Test {
 protected:
  InvisibleVersionPurgeTest() : writer_(fixture_.manager()), old_(fixture_.manager()) {}
  ~InvisibleVersionPurgeTest() override {
    for (Actor* actor : {&writer_, &old_}) EXPECT_TRUE(fixture_.Commit(actor).ok());
  }

  void Do(const std::function<Status()>& change) {
    RowFixture::Begin(&writer_);
    ASSERT_TRUE(change().ok());
    ASSERT_TRUE(fixture_.Commit(&writer_).ok());
  }
  void Insert(const TestRow& row) {
    Do([&] { return fixture_.Insert(&writer_, kId, row); });
  }
  void Update(const TestRow& from, const TestRow& to) {
    Do([&] { return fixture_.Update(&writer_, kId, from, to); });
  }
  void Delete(const TestRow& row) {
    Do([&] { return fixture_.Delete(&writer_, kId, row); });
  }
  void Open(Actor* actor) {
    RowFixture::Begin(actor);
    fixture_.manager()->OpenSnapshot(&actor->txn);
  }
  void ExpectEntries(size_t clustered, size_t a, size_t b) {
    EXPECT_EQ(fixture_.Raw(0).size(), clustered);
    EXPECT_EQ(fixture_.Raw(1).size(), a);
    EXPECT_EQ(fixture_.Raw(2).size(), b);
  }
  Status Read(Actor* actor, TestRow* row) {
    return fixture_.Get(actor, kId, ReadMode::kSnapshot, row);
  }

  RowFixture fixture_;
  Actor writer_;
  Actor old_;
};

TEST_F(InvisibleVersionPurgeTest, ARowThatCameAndWentGoes) {
  Open(&old_);
  Insert(kFirst);
  Delete(kFirst);
  ExpectEntries(1, 1, 1);
  fixture_.Purge();
  ExpectEntries(0, 0, 0);
  EXPECT_NE(fixture_.manager()->HistoryLength(), 0u) << "its undo waits for the snapshot";
  TestRow row;
  EXPECT_TRUE(Read(&old_, &row).Is(Code::kNotFound));
  ASSERT_TRUE(fixture_.Commit(&old_).ok());
  fixture_.Purge();
  EXPECT_EQ(fixture_.manager()->HistoryLength(), 0u);
}

TEST_F(InvisibleVersionPurgeTest, ThePlaceCanBeTakenAgain) {
  Open(&old_);
  Insert(kFirst);
  Delete(kFirst);
  fixture_.Purge();
  Insert(kFirst);
  TestRow row;
  EXPECT_TRUE(Read(&old_, &row).Is(Code::kNotFound));
  ASSERT_TRUE(fixture_.Commit(&old_).ok());
  fixture_.Purge();
  ExpectEntries(1, 1, 1);
}

TEST_F(InvisibleVersionPurgeTest, ChangedInBetween) {
  Open(&old_);
  Insert(kFirst);
  Update(kFirst, kSecond);
  Update(kSecond, kFirst);
  Delete(kFirst);
  fixture_.Purge();
  ExpectEntries(0, 0, 0);
}

TEST_F(InvisibleVersionPurgeTest, WhatASnapshotSeesStays) {
  Insert(kFirst);
  Open(&old_);
  Update(kFirst, kSecond);
  Delete(kSecond);
  fixture_.Purge();
  // The entries of the second version came and went, its row hides the first one.
  ExpectEntries(1, 1, 1);
  TestRow row;
  ASSERT_TRUE(Read(&old_, &row).ok());
  EXPECT_EQ(row, kFirst);
  ASSERT_TRUE(fixture_.Commit(&old_).ok());
  fixture_.Purge();
  ExpectEntries(0, 0, 0);
}

TEST_F(InvisibleVersionPurgeTest, OfSeveralSnapshotsTheLaterSeesIt) {
  Actor later(fixture_.manager());
  Open(&old_);
  Insert(kFirst);
  Open(&later);
  Delete(kFirst);
  fixture_.Purge();
  ExpectEntries(1, 1, 1);
  TestRow row;
  EXPECT_TRUE(Read(&old_, &row).Is(Code::kNotFound));
  ASSERT_TRUE(Read(&later, &row).ok());
  EXPECT_EQ(row, kFirst);
  ASSERT_TRUE(fixture_.Commit(&later).ok());
}

TEST_F(InvisibleVersionPurgeTest, ComesBackOverADeletedRow) {
  Actor older(fixture_.manager());
  Open(&older);
  Insert(kFirst);
  Open(&old_);
  Delete(kFirst);  // stays: old_ sees the row
  Insert(kSecond);
  Delete(kSecond);
  fixture_.Purge();
  TestRow row;
  ASSERT_TRUE(Read(&old_, &row).ok());
  EXPECT_EQ(row, kFirst);
  EXPECT_TRUE(Read(&older, &row).Is(Code::kNotFound));
  ASSERT_TRUE(fixture_.Commit(&old_).ok());
  ASSERT_TRUE(fixture_.Commit(&older).ok());
  fixture_.Purge();
  ExpectEntries(0, 0, 0);
}

TEST_F(InvisibleVersionPurgeTest, RolledBackOverWhatIsGone) {
  Open(&old_);
  Insert(kFirst);
  Delete(kFirst);
  RowFixture::Begin(&writer_);
  ASSERT_TRUE(fixture_.Insert(&writer_, kId, kFirst).ok());
  fixture_.Purge();
  ASSERT_TRUE(fixture_.Rollback(&writer_).ok());
  fixture_.Purge();
  TestRow row;
  EXPECT_TRUE(Read(&old_, &row).Is(Code::kNotFound));
  ASSERT_TRUE(fixture_.Commit(&old_).ok());
  fixture_.Purge();
  ExpectEntries(0, 0, 0);
}

// A queue under an old snapshot, purged beside its users: what is left is what the snapshot sees.
TEST_F(InvisibleVersionPurgeTest, AQueueStaysShort) {
  constexpr uint32_t kOldRows = 20;
  constexpr uint32_t kRounds = 600;
  const auto in_queue = [](uint32_t number) { return TestRow{number % 5, number, "queued"}; };
  const auto put = [&](uint32_t number) {
    Do([&] { return fixture_.Insert(&writer_, number, in_queue(number)); });
  };
  for (uint32_t number = 0; number < kOldRows; ++number) put(number);
  Open(&old_);
  std::atomic<bool> stop{false};
  std::vector<std::thread> workers;
  for (uint32_t worker = 0; worker < 2; ++worker) {
    workers.emplace_back([&, worker] {
      while (!stop.load()) {
        WorkBudget budget(50);
        ASSERT_TRUE(fixture_.manager()->PurgeSome(worker, 2, &budget).ok());
      }
    });
  }
  // Each keeps what is in the queue when it begins, so they are counted.
  constexpr uint32_t kSnapshots = 12;
  std::atomic<uint32_t> round{0};
  std::thread reader([&] {
    Actor actor(fixture_.manager());
    for (uint32_t next = 0; !stop.load(); next = round.load() + kRounds / kSnapshots) {
      while (round.load() < next && !stop.load()) std::this_thread::yield();
      Open(&actor);
      TestRow row;
      const Status status = fixture_.Get(&actor, 0, ReadMode::kSnapshot, &row);
      ASSERT_TRUE(status.ok() || status.Is(Code::kNotFound));
      ASSERT_TRUE(fixture_.Commit(&actor).ok());
    }
  });
  for (uint32_t number = 0; number < kRounds; ++number) {
    put(number + kOldRows);
    Do([&] { return fixture_.Delete(&writer_, number, in_queue(number)); });
    round.store(number);
  }
  stop.store(true);
  for (std::thread& worker : workers) worker.join();
  reader.join();
  fixture_.Purge();
  EXPECT_LE(fixture_.Raw(0).size(), 2 * kOldRows + (kSnapshots + 2) * (kOldRows + 1));
  TestRow row;
  for (uint32_t number = 0; number < kOldRows; ++number) {
    ASSERT_TRUE(fixture_.Get(&old_, number, ReadMode::kSnapshot, &row).ok());
    EXPECT_EQ(row, in_queue(number));
  }
  ASSERT_TRUE(fixture_.Commit(&old_).ok());
  fixture_.Purge();
  ExpectEntries(kOldRows, kOldRows, kOldRows);
}

// A snapshot never asks about ids that came after it, so the ring may forget them while it is open.
// Whoever asks for all snapshots must not take that for "seen by all".
TEST_F(InvisibleVersionPurgeTest, WhatTheRingForgotIsNotSeenByAll) {
  constexpr int kMoreThanTheRing = 3000;
  Insert(kFirst);
  Open(&old_);
  Do([&] { return fixture_.Insert(&writer_, kId + 1, kSecond); });
  Delete(kFirst);
  const TxnId deleter(fixture_.manager()->NextTxnId().value() - 1);
  for (int i = 0; i < kMoreThanTheRing; ++i) {
    Txn other;
    ASSERT_TRUE(fixture_.manager()->AssignId(&other).ok());
    ASSERT_TRUE(fixture_.manager()->Commit(&other, Durability::kDurable, true).ok());
  }
  fixture_.manager()->RefreshHorizon();
  ASSERT_EQ(fixture_.manager()->RememberedOutcomes(), 0U);
  EXPECT_FALSE(fixture_.manager()->IsSeenByAll(deleter));
  EXPECT_FALSE(fixture_.manager()->IsSeenByAll(TxnId(deleter.value() - 1)));
  for (int look = 0; look < 3; ++look) {  // the first ones may note what they find of the leaf
    old_.cursor.Open(&old_.txn, fixture_.index(0), {.mode = ReadMode::kSnapshot});
    VersionView view;
    int rows = 0;
    for (Status status = old_.cursor.SeekFirst(&view); status.ok();
         status = old_.cursor.Next(&view)) {
      ++rows;
    }
    EXPECT_EQ(rows, 1);
    TestRow row;
    ASSERT_TRUE(Read(&old_, &row).ok());
    EXPECT_EQ(row, kFirst);
  }
  ASSERT_TRUE(fixture_.Commit(&old_).ok());
  fixture_.manager()->RefreshHorizon();
  EXPECT_TRUE(fixture_.manager()->IsSeenByAll(deleter));
}

}  // namespace
}  // namespace rowan
