// SPDX-License-Identifier: GPL-2.0-only
// VersionCursor: consistent scans beside writers, locking reads, counting.
#include <map>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/counters.h"
#include "base/random.h"
#include "tests/mvcc/row_fixture.h"
#include "tests/support/test_settings.h"

namespace rowan {
namespace {

class VersionTest : public ::testing::Test {
 protected:
  std::unique_ptr<Actor> NewActor(IsolationLevel isolation = IsolationLevel::kRepeatableRead) {
    auto actor = std::make_unique<Actor>(fixture_.manager());
    RowFixture::Begin(actor.get(), isolation);
    return actor;
  }
  void Fill(uint32_t rows, const std::string& text) {
    auto writer = NewActor();
    for (uint32_t id = 0; id < rows; ++id) {
      ASSERT_TRUE(fixture_.Insert(writer.get(), id, {100, id, text}).ok());
    }
    ASSERT_TRUE(fixture_.Commit(writer.get()).ok());
  }
  /// Sum of column a over all visible rows; through the clustered index or by entries of index 1.
  uint64_t Sum(Actor* actor, uint32_t number, uint64_t* rows) {
    VersionView view;
    uint64_t sum = 0;
    *rows = 0;
    actor->cursor.Open(&actor->txn, fixture_.index(number), {});
    Status status = actor->cursor.SeekFirst(&view);
    for (; status.ok(); status = actor->cursor.Next(&view)) {
      sum += LoadBe32(number == 0 ? view.value.data() : view.key.data());
      ++*rows;
    }
    EXPECT_TRUE(status.Is(Code::kEndOfRange)) << status.message();
    return sum;
  }
  RowFixture fixture_;
};

TEST_F(VersionTest, ScansGoBothWaysOverManyLeaves) {
  constexpr uint32_t kRows = 1500;
  Fill(kRows, std::string(60, 't'));
  fixture_.manager()->RefreshHorizon();
  auto reader = NewActor();
  fixture_.manager()->OpenSnapshot(&reader->txn);
  VersionView view;
  VersionCursor& cursor = reader->cursor;
  cursor.Open(&reader->txn, fixture_.index(0), {});
  uint32_t expected = 700;
  Status status = cursor.SeekAtLeast(AsBytes(BigEndian(700)), &view);
  for (; status.ok(); status = cursor.Next(&view))
    ASSERT_EQ(AsText(view.key), BigEndian(expected++));
  EXPECT_EQ(expected, kRows);
  status = cursor.SeekBefore(AsBytes(BigEndian(700)), &view);
  for (expected = 700; status.ok(); status = cursor.Prev(&view)) {
    ASSERT_EQ(AsText(view.key), BigEndian(--expected));
  }
  EXPECT_EQ(expected, 0u);
  cursor.SetEnd(AsBytes(BigEndian(10)));
  status = cursor.SeekFirst(&view);
  for (expected = 0; status.ok(); status = cursor.Next(&view)) ++expected;
  EXPECT_EQ(expected, 10u);
  ASSERT_TRUE(cursor.Prev(&view).ok());
  EXPECT_EQ(AsText(view.key), BigEndian(9));
  ASSERT_TRUE(cursor.SeekLast(&view).ok());
  EXPECT_EQ(AsText(view.key), BigEndian(kRows - 1));
  ASSERT_TRUE(cursor.Prev(&view).ok());
  ASSERT_TRUE(cursor.Prev(&view).ok());
  cursor.SetEnd({});
  ASSERT_TRUE(cursor.Next(&view).ok());
  EXPECT_EQ(AsText(view.key), BigEndian(kRows - 2));
  EXPECT_TRUE(cursor.Get(AsBytes(BigEndian(kRows)), &view).Is(Code::kNotFound));
}

/// Snapshots of a table whose rows change, each with what it must see.
class ChangingTable {
 public:
  using Rows = std::map<uint32_t, TestRow>;
  static constexpr uint32_t kRows = 300;
  struct Reader {
    std::unique_ptr<Actor> actor;
    Rows rows;
  };

  explicit ChangingTable(RowFixture* fixture) : fixture_(fixture) { BeginWriter(); }
  ~ChangingTable() { EXPECT_TRUE(fixture_->Commit(writer_.get()).ok()); }

  void ChangeRow(Random* random) {
    const auto id = static_cast<uint32_t>(random->Below(kRows));
    const TestRow row{static_cast<uint32_t>(random->Below(50)), id,
                      std::string(random->Below(80), 't')};
    const auto old = changed_.find(id);
    if (old == changed_.end()) {
      ASSERT_TRUE(fixture_->Insert(writer_.get(), id, row).ok());
    } else if (random->OneIn(3)) {
      ASSERT_TRUE(fixture_->Delete(writer_.get(), id, old->second).ok());
      changed_.erase(old);
      return;
    } else {
      ASSERT_TRUE(fixture_->Update(writer_.get(), id, old->second, row).ok());
    }
    changed_[id] = row;
  }
  void EndWriter(bool commit) {
    ASSERT_TRUE(
        (commit ? fixture_->Commit(writer_.get()) : fixture_->Rollback(writer_.get())).ok());
    if (commit) committed_ = changed_;
    BeginWriter();
  }
  void Open(Reader* reader) {
    Close(reader);
    *reader = {std::make_unique<Actor>(fixture_->manager()), committed_};
    RowFixture::Begin(reader->actor.get());
    fixture_->manager()->OpenSnapshot(&reader->actor->txn);
    reader->actor->cursor.Open(&reader->actor->txn, fixture_->index(0), {});
  }
  void Close(Reader* reader) {
    if (reader->actor == nullptr) return;
    reader->actor->cursor.Close();
    ASSERT_TRUE(fixture_->Commit(reader->actor.get()).ok());
  }

 private:
  void BeginWriter() {
    writer_ = std::make_unique<Actor>(fixture_->manager());
    RowFixture::Begin(writer_.get());
    changed_ = committed_;
  }

  RowFixture* const fixture_;
  std::unique_ptr<Actor> writer_;
  Rows committed_;
  Rows changed_;
};

TEST_F(VersionTest, LookUpsAgreeWithTheirSnapshotsWhileRowsChange) {
  ChangingTable table(&fixture_);
  Random random(TestSeed());
  std::vector<ChangingTable::Reader> readers(4);
  for (ChangingTable::Reader& reader : readers) ASSERT_NO_FATAL_FAILURE(table.Open(&reader));
  for (int step = 0; step < 20000; ++step) {
    const uint64_t kind = random.Below(100);
    ChangingTable::Reader& reader = readers[random.Below(4)];
    if (kind < 2) {
      ASSERT_NO_FATAL_FAILURE(table.EndWriter(random.OneIn(2)));
    } else if (kind < 30) {
      ASSERT_NO_FATAL_FAILURE(table.ChangeRow(&random));
    } else if (kind == 30) {
      ASSERT_NO_FATAL_FAILURE(table.Open(&reader));
    } else {
      const auto id = static_cast<uint32_t>(random.Below(ChangingTable::kRows));
      VersionView view;
      const Status got = reader.actor->cursor.Get(AsBytes(BigEndian(id)), &view);
      const auto row = reader.rows.find(id);
      ASSERT_EQ(got.ok(), row != reader.rows.end()) << got.message();
      if (!got.ok()) continue;
      ASSERT_EQ(ParseTestRow(view.value), row->second);
      ASSERT_EQ(AsText(view.key), BigEndian(id));
      if (!random.OneIn(4)) continue;
      const Status next = reader.actor->cursor.Next(&view);
      ASSERT_EQ(next.ok(), std::next(row) != reader.rows.end());
      if (next.ok()) {
        ASSERT_EQ(AsText(view.key), BigEndian(std::next(row)->first));
      }
    }
  }
  for (ChangingTable::Reader& reader : readers) ASSERT_NO_FATAL_FAILURE(table.Close(&reader));
}

TEST_F(VersionTest, SuspendedScanGoesOnFromItsKeyAndWithinItsBounds) {
  Fill(20, "t");
  auto reader = NewActor(IsolationLevel::kReadUncommitted);
  VersionView view;
  VersionCursor& cursor = reader->cursor;
  const auto bind = [&] {
    cursor.Bind(&reader->txn, fixture_.index(0), {.mode = ReadMode::kReadUncommitted});
  };
  const auto expect = [&](Status status, uint32_t id) {
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(AsText(view.key), BigEndian(id));
  };
  bind();
  cursor.SetEnd(AsBytes(BigEndian(15)));
  cursor.SetStart(AsBytes(BigEndian(5)));
  for (const bool forward : {true, false}) {
    expect(cursor.SeekAtLeast(AsBytes(BigEndian(forward ? 10 : 12)), &view), forward ? 10 : 12);
    cursor.Suspend();
    if (forward) {  // the row may be gone by then
      auto writer = NewActor();
      ASSERT_TRUE(fixture_.Delete(writer.get(), 10, {100, 10, "t"}).ok());
      ASSERT_TRUE(fixture_.Commit(writer.get()).ok());
    }
    bind();
    expect(forward ? cursor.Next(&view) : cursor.Prev(&view), 11);
  }
  Status status = cursor.SeekAtLeast(AsBytes(BigEndian(14)), &view);
  for (; status.ok(); status = cursor.Next(&view)) EXPECT_LT(AsText(view.key), BigEndian(15));
  cursor.Suspend();
  bind();
  EXPECT_TRUE(cursor.Next(&view).Is(Code::kEndOfRange));
  expect(cursor.Prev(&view), 14);
  status = cursor.SeekBefore(AsBytes(BigEndian(7)), &view);
  for (; status.ok(); status = cursor.Prev(&view)) EXPECT_GE(AsText(view.key), BigEndian(5));
  cursor.Suspend();
  bind();
  EXPECT_TRUE(cursor.Prev(&view).Is(Code::kEndOfRange));
  expect(cursor.Next(&view), 5);
  cursor.Open(&reader->txn, fixture_.index(0), {.mode = ReadMode::kReadUncommitted});
  expect(cursor.Prev(&view), 19);  // neither place nor bounds
}

TEST_F(VersionTest, QuietLeavesNeedNoVisibilityWork) {
  Fill(500, "t");
  fixture_.manager()->RefreshHorizon();
  auto reader = NewActor();
  fixture_.manager()->OpenSnapshot(&reader->txn);
  ResetCounters();
  uint64_t rows = 0;
  EXPECT_EQ(Sum(reader.get(), 1, &rows), 500u * 100);
  EXPECT_EQ(rows, 500u);
  EXPECT_GT(ReadCounter(Counter::kLeavesAllVisible), 0u);
  EXPECT_EQ(ReadCounter(Counter::kVersionsBuilt), 0u);
  reader->cursor.Open(&reader->txn, fixture_.index(1), {});
  EXPECT_EQ(RowFixture::Take(reader->cursor.CountRange({}, {})), 500u);
}

TEST_F(VersionTest, OldSnapshotBesideHeavyUpdates) {
  constexpr uint32_t kRows = 40;
  Fill(kRows, "old");
  auto reader = NewActor();
  fixture_.manager()->OpenSnapshot(&reader->txn);
  Random random(TestSeed());
  std::vector<TestRow> rows(kRows);
  for (uint32_t id = 0; id < kRows; ++id) rows[id] = {100, id, "old"};
  for (int round = 0; round < 60; ++round) {
    auto writer = NewActor();
    for (int change = 0; change < 20; ++change) {
      const auto id = static_cast<uint32_t>(random.Below(kRows));
      TestRow row = rows[id];
      row.a = static_cast<uint32_t>(random.Below(300));
      row.text.assign(random.Below(60), 'n');
      ASSERT_TRUE(fixture_.Update(writer.get(), id, rows[id], row).ok());
      rows[id] = row;
    }
    ASSERT_TRUE(fixture_.Commit(writer.get()).ok());
    fixture_.Purge();
    uint64_t count = 0;
    ASSERT_EQ(Sum(reader.get(), 0, &count), kRows * 100u);
    ASSERT_EQ(Sum(reader.get(), 1, &count), kRows * 100u);
    ASSERT_EQ(count, kRows);
  }
  ASSERT_TRUE(fixture_.Commit(reader.get()).ok());
  fixture_.Purge();
  EXPECT_EQ(fixture_.Raw(1).size(), kRows);
  EXPECT_EQ(fixture_.manager()->undo()->streams()->Statistics().transactions_to_purge, 0u);
}

TEST_F(VersionTest, TheWayOverDeadOrSkippedRowsCanBeInterrupted) {
  constexpr uint32_t kRows = 1500;
  Fill(kRows, std::string(60, 't'));
  auto deleter = NewActor();
  for (uint32_t id = 0; id < kRows; ++id) {
    ASSERT_TRUE(fixture_.Delete(deleter.get(), id, {100, id, std::string(60, 't')}).ok());
  }
  auto reader = NewActor();
  VersionView view;
  const auto walk = [&](const ReadOptions& options) {
    reader->cursor.Open(&reader->txn, fixture_.index(0), options);
    reader->txn.interrupted = true;
    const Status forward = reader->cursor.SeekFirst(&view);
    const Status backward = reader->cursor.SeekLast(&view);
    EXPECT_TRUE(forward.Is(Code::kInterrupted)) << forward.message();
    EXPECT_TRUE(backward.Is(Code::kInterrupted)) << backward.message();
    reader->txn.interrupted = false;
    EXPECT_TRUE(reader->cursor.SeekFirst(&view).Is(Code::kEndOfRange));
  };
  walk({ReadMode::kLockExclusive, WaitPolicy::kSkipLocked});
  ASSERT_TRUE(fixture_.Commit(deleter.get()).ok());
  fixture_.manager()->OpenSnapshot(&reader->txn);
  walk({});
  walk({ReadMode::kLockShared, WaitPolicy::kWait});
}

// A transaction that updates a row newer than its snapshot sees its own row; then the row's entries
// must be seen as they are now, too: no entry missing, none of the old ones left.
TEST_F(VersionTest, EntriesOfARowNewerThanTheSnapshotFollowTheRow) {
  Fill(3, "t");
  auto actor = NewActor();
  fixture_.manager()->OpenSnapshot(&actor->txn);
  auto other = NewActor();
  ASSERT_TRUE(fixture_.Update(other.get(), 1, {100, 1, "t"}, {7, 71, "t"}).ok());
  ASSERT_TRUE(fixture_.Insert(other.get(), 9, {9, 9, "t"}).ok());
  ASSERT_TRUE(fixture_.Delete(other.get(), 2, {100, 2, "t"}).ok());
  ASSERT_TRUE(fixture_.Commit(other.get()).ok());
  uint64_t rows = 0;
  EXPECT_EQ(Sum(actor.get(), 1, &rows), 300u);

  const UndoPosition before = fixture_.manager()->Savepoint(&actor->txn);
  ASSERT_TRUE(fixture_.Update(actor.get(), 1, {7, 71, "t"}, {7, 71, "u"}).ok());
  EXPECT_EQ(Sum(actor.get(), 0, &rows), 207u);
  EXPECT_EQ(Sum(actor.get(), 1, &rows), 207u);
  EXPECT_EQ(rows, 3u);
  ASSERT_TRUE(fixture_.Update(actor.get(), 9, {9, 9, "t"}, {9, 9, "u"}).ok());
  ASSERT_TRUE(fixture_.Insert(actor.get(), 2, {100, 2, "t"}).ok());
  EXPECT_EQ(Sum(actor.get(), 0, &rows), 216u);
  EXPECT_EQ(Sum(actor.get(), 1, &rows), 216u);
  EXPECT_EQ(rows, 4u);
  actor->cursor.Open(&actor->txn, fixture_.index(2), {});
  EXPECT_EQ(RowFixture::Take(actor->cursor.CountRange({}, {})), 4u);

  ASSERT_TRUE(fixture_.manager()->RollbackTo(&actor->txn, before).ok());
  EXPECT_EQ(Sum(actor.get(), 1, &rows), 300u);
  EXPECT_EQ(rows, 3u);
}

TEST_F(VersionTest, LockingReadsSeeTheNewestVersionAndRespectOthers) {
  Fill(5, "t");
  auto old_reader = NewActor();
  fixture_.manager()->OpenSnapshot(&old_reader->txn);
  auto writer = NewActor();
  ASSERT_TRUE(fixture_.Update(writer.get(), 1, {100, 1, "t"}, {200, 1, "t"}).ok());
  ASSERT_TRUE(fixture_.Commit(writer.get()).ok());
  TestRow row;
  ASSERT_TRUE(fixture_.Get(old_reader.get(), 1, ReadMode::kSnapshot, &row).ok());
  EXPECT_EQ(row.a, 100u);
  ASSERT_TRUE(fixture_.Get(old_reader.get(), 1, ReadMode::kLockExclusive, &row).ok());
  EXPECT_EQ(row.a, 200u);

  auto other = NewActor();
  other->txn.locks.wait_timeout_s = 0;
  EXPECT_TRUE(fixture_.Get(other.get(), 1, ReadMode::kLockShared, &row).Is(Code::kLockTimeout));
  EXPECT_TRUE(fixture_.Update(other.get(), 1, {200, 1, "t"}, {1, 1, "t"}).Is(Code::kLockTimeout));
  VersionView view;
  other->cursor.Open(&other->txn, fixture_.index(0),
                     {.mode = ReadMode::kLockExclusive, .wait_policy = WaitPolicy::kNoWait});
  EXPECT_TRUE(other->cursor.Get(AsBytes(BigEndian(1)), &view).Is(Code::kLockNotAvailable));
  other->cursor.Open(&other->txn, fixture_.index(0),
                     {.mode = ReadMode::kLockExclusive, .wait_policy = WaitPolicy::kSkipLocked});
  EXPECT_TRUE(other->cursor.Get(AsBytes(BigEndian(1)), &view).Is(Code::kSkipped));
  std::string seen;
  Status status = other->cursor.SeekFirst(&view);
  for (; status.ok(); status = other->cursor.Next(&view)) {
    seen += std::to_string(LoadBe32(view.key.data())) + " ";
  }
  EXPECT_EQ(seen, "0 2 3 4 ");
  ASSERT_TRUE(fixture_.Commit(old_reader.get()).ok());
  EXPECT_TRUE(fixture_.Get(other.get(), 1, ReadMode::kLockShared, &row).ok());
}

TEST_F(VersionTest, SkipLockedAndNoWaitMeetImplicitLocks) {
  Fill(4, "t");
  auto writer = NewActor();
  ASSERT_TRUE(fixture_.Update(writer.get(), 2, {100, 2, "t"}, {5, 2, "t"}).ok());
  auto other = NewActor();
  VersionView view;
  for (const uint32_t number : {0u, 1u}) {
    other->cursor.Open(&other->txn, fixture_.index(number),
                       {.mode = ReadMode::kLockShared, .wait_policy = WaitPolicy::kSkipLocked});
    int seen = 0;
    Status status = other->cursor.SeekLast(&view);
    for (; status.ok(); status = other->cursor.Prev(&view)) ++seen;
    EXPECT_EQ(seen, 3) << number;
    other->cursor.Open(&other->txn, fixture_.index(number),
                       {.mode = ReadMode::kLockShared, .wait_policy = WaitPolicy::kNoWait});
    status = other->cursor.SeekFirst(&view);
    while (status.ok()) status = other->cursor.Next(&view);
    EXPECT_TRUE(status.Is(Code::kLockNotAvailable)) << number;
  }
}

TEST_F(VersionTest, UnlockCurrentGivesOnlyItsOwnLockBack) {
  Fill(3, "t");
  auto reader = NewActor(IsolationLevel::kReadCommitted);
  VersionView view;
  TestRow row;
  ASSERT_TRUE(fixture_.Get(reader.get(), 0, ReadMode::kLockExclusive, &row).ok());
  reader->cursor.Open(&reader->txn, fixture_.index(0), {.mode = ReadMode::kLockExclusive});
  Status status = reader->cursor.SeekFirst(&view);
  for (; status.ok(); status = reader->cursor.Next(&view)) reader->cursor.UnlockCurrent();
  auto other = NewActor();
  other->txn.locks.wait_timeout_s = 0;
  EXPECT_TRUE(fixture_.Get(other.get(), 0, ReadMode::kLockShared, &row).Is(Code::kLockTimeout));
  EXPECT_TRUE(fixture_.Get(other.get(), 1, ReadMode::kLockShared, &row).ok());
}

// Threads move money between accounts with locking reads; every snapshot shows the same total, in
// the rows and in the entries of the index on the balance.
TEST_F(VersionTest, BankTransfersKeepTheTotal) {
  constexpr uint32_t kAccounts = 16;
  constexpr int kWriters = 3;
  Fill(kAccounts, "account");
  std::atomic<bool> stop{false};
  std::atomic<int> unexpected{0};
  std::atomic<uint64_t> transfers{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kWriters; ++thread) {
    threads.emplace_back([&, thread] {
      Random random(TestSeed() + static_cast<uint64_t>(thread));
      Actor actor(fixture_.manager());
      while (!stop.load()) {
        RowFixture::Begin(&actor);
        const auto source = static_cast<uint32_t>(random.Below(kAccounts));
        const auto target =
            static_cast<uint32_t>((source + 1 + random.Below(kAccounts - 1)) % kAccounts);
        TestRow from;
        TestRow to;
        Status status = fixture_.Get(&actor, source, ReadMode::kLockExclusive, &from);
        if (status.ok()) status = fixture_.Get(&actor, target, ReadMode::kLockExclusive, &to);
        const uint32_t amount =
            status.ok() && from.a > 0 ? static_cast<uint32_t>(random.Below(from.a)) : 0;
        if (status.ok()) {
          status = fixture_.Update(&actor, source, from, {from.a - amount, from.b, from.text});
        }
        if (status.ok()) {
          status = fixture_.Update(&actor, target, to, {to.a + amount, to.b, to.text});
        }
        if (!status.ok() && !status.Is(Code::kDeadlock)) ++unexpected;
        const bool keep = status.ok() && !random.OneIn(5);
        status = keep ? fixture_.Commit(&actor) : fixture_.Rollback(&actor);
        if (!status.ok()) ++unexpected;
        transfers += keep ? 1 : 0;
      }
    });
  }
  threads.emplace_back([&] {
    while (!stop.load()) {
      fixture_.Purge();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  const uint64_t deadline = MonotonicMicros() + 2'000'000;
  auto reader = NewActor();
  uint64_t scans = 0;
  const auto goes_on = [&] { return MonotonicMicros() < deadline || transfers.load() <= 10; };
  while (goes_on() && !HasFailure()) {
    fixture_.manager()->OpenSnapshot(&reader->txn);
    for (const uint32_t number : {0u, 1u, 0u}) {
      uint64_t rows = 0;
      EXPECT_EQ(Sum(reader.get(), number, &rows), kAccounts * 100u) << "index " << number;
      EXPECT_EQ(rows, kAccounts);
    }
    fixture_.manager()->CloseSnapshot(&reader->txn);
    ++scans;
  }
  stop.store(true);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(unexpected.load(), 0);
  EXPECT_GT(transfers.load(), 10u);
  std::printf("transfers %llu, scans %llu\n", static_cast<unsigned long long>(transfers.load()),
              static_cast<unsigned long long>(scans));
  ASSERT_TRUE(fixture_.Commit(reader.get()).ok());
  fixture_.Purge();
  for (const uint32_t number : {0u, 1u, 2u}) EXPECT_EQ(fixture_.Raw(number).size(), kAccounts);
}

}  // namespace
}  // namespace rowan
