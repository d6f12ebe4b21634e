// SPDX-License-Identifier: GPL-2.0-only
// Secondary entries: intervals, repeats, savepoints, the unique test.
#include <thread>

#include "base/random.h"
#include "tests/mvcc/row_fixture.h"

namespace rowan {
namespace {

class SecondaryTest : public ::testing::Test {
 protected:
  std::unique_ptr<Actor> NewActor() {
    auto actor = std::make_unique<Actor>(fixture_.manager());
    RowFixture::Begin(actor.get());
    return actor;
  }
  /// "key:payload" of each entry of secondary 0 that the actor's snapshot shows.
  std::string Seen(Actor* actor, ReadMode mode = ReadMode::kSnapshot) {
    if (mode == ReadMode::kSnapshot) fixture_.manager()->OpenSnapshot(&actor->txn);
    std::string text;
    VersionView view;
    actor->cursor.Open(&actor->txn, fixture_.index(1), {.mode = mode});
    Status status = actor->cursor.SeekFirst(&view);
    for (; status.ok(); status = actor->cursor.Next(&view)) {
      text += std::string(AsText(view.key)) + ":" + std::string(AsText(view.value)) + " ";
    }
    EXPECT_TRUE(status.Is(Code::kEndOfRange));
    return text;
  }
  Status Put(Actor* actor, const char* key, const char* payload) {
    return actor->entry_writer.Insert(&actor->txn, fixture_.index(1),
                                      {1, AsBytes(key), AsBytes(payload), 0});
  }
  Status Drop(Actor* actor, const char* key) {
    return actor->entry_writer.Delete(&actor->txn, fixture_.index(1), AsBytes(key));
  }
  Status PutUnique(Actor* actor, const char* key, LockMode mode = LockMode::kShared) {
    return actor->entry_writer.Insert(&actor->txn, fixture_.index(2), {2, AsBytes(key), {}, 4},
                                      mode);
  }
  RowFixture fixture_;
};

// A -> B -> A in one transaction, rolled back to every point on the way.
TEST_F(SecondaryTest, AwayAndBackWithSavepoints) {
  auto setup = NewActor();
  ASSERT_TRUE(Put(setup.get(), "A1", "old").ok());
  ASSERT_TRUE(fixture_.Commit(setup.get()).ok());
  const std::vector<std::string> states = {"A1:old ", "", "B1:x ", "", "A1:old ", "", "A1:new "};
  for (size_t done = 1; done < states.size(); ++done) {
    for (size_t back = 0; back <= done; ++back) {
      auto actor = NewActor();
      std::vector<UndoPosition> points = {fixture_.manager()->Savepoint(&actor->txn)};
      for (size_t step = 1; step <= done; ++step) {
        const Status status = step == 1   ? Drop(actor.get(), "A1")
                              : step == 2 ? Put(actor.get(), "B1", "x")
                              : step == 3 ? Drop(actor.get(), "B1")
                              : step == 4 ? Put(actor.get(), "A1", "old")
                              : step == 5 ? Drop(actor.get(), "A1")
                                          : Put(actor.get(), "A1", "new");
        ASSERT_TRUE(status.ok()) << step;
        EXPECT_EQ(Seen(actor.get()), states[step]);
        points.push_back(fixture_.manager()->Savepoint(&actor->txn));
      }
      ASSERT_TRUE(fixture_.manager()->RollbackTo(&actor->txn, points[back]).ok());
      EXPECT_EQ(Seen(actor.get()), states[back]) << done << " to " << back;
      // What was rolled back can be done again.
      if (back == 1 || back == 3) {
        ASSERT_TRUE(Put(actor.get(), "A1", "again").ok());
        EXPECT_EQ(Seen(actor.get()), "A1:again ");
      }
      ASSERT_TRUE(fixture_.Rollback(actor.get()).ok());
      fixture_.Purge();
      ASSERT_EQ(fixture_.Raw(1).size(), 1u) << done << " to " << back;
    }
  }
}

// An indexed flag that goes to and fro behind an old snapshot: each time one entry more, given back
// when the snapshot goes (docs/isolation.md).
TEST_F(SecondaryTest, AFlagBehindAnOldSnapshotLeavesNoEntries) {
  auto writer = NewActor();
  TestRow row{0, 7, ""};
  ASSERT_TRUE(fixture_.Insert(writer.get(), 1, row).ok());
  ASSERT_TRUE(fixture_.Commit(writer.get()).ok());
  auto reader = NewActor();
  fixture_.manager()->OpenSnapshot(&reader->txn);
  constexpr uint32_t kChanges = 500;
  for (uint32_t change = 0; change < kChanges; ++change) {
    RowFixture::Begin(writer.get());
    ASSERT_TRUE(fixture_.Update(writer.get(), 1, row, {1 - row.a, 7, ""}).ok());
    row.a = 1 - row.a;
    ASSERT_TRUE(fixture_.Commit(writer.get()).ok());
    fixture_.Purge();
  }
  // The one that the snapshot sees and the live one: the others came and went beside it.
  EXPECT_LE(fixture_.Raw(1).size(), 3u);
  ASSERT_TRUE(fixture_.Commit(reader.get()).ok());
  fixture_.Purge();
  EXPECT_EQ(fixture_.Raw(1).size(), 1u);
}

TEST_F(SecondaryTest, EachSnapshotSeesItsInterval) {
  auto setup = NewActor();
  ASSERT_TRUE(Put(setup.get(), "A1", "0").ok());
  ASSERT_TRUE(fixture_.Commit(setup.get()).ok());
  std::vector<std::unique_ptr<Actor>> readers;
  for (int version = 1; version <= 5; ++version) {
    readers.push_back(NewActor());
    fixture_.manager()->OpenSnapshot(&readers.back()->txn);
    auto writer = NewActor();
    ASSERT_TRUE(Drop(writer.get(), "A1").ok());
    ASSERT_TRUE(fixture_.Commit(writer.get()).ok());
    readers.push_back(NewActor());
    fixture_.manager()->OpenSnapshot(&readers.back()->txn);
    writer = NewActor();
    ASSERT_TRUE(Put(writer.get(), "A1", std::to_string(version).c_str()).ok());
    ASSERT_TRUE(fixture_.Commit(writer.get()).ok());
    fixture_.Purge();
  }
  EXPECT_GT(fixture_.Raw(1).size(), 4u);
  VersionView view;
  auto beside = NewActor();
  ASSERT_TRUE(Put(beside.get(), "A2", "next").ok());
  for (size_t number = 0; number < readers.size(); ++number) {
    Actor* reader = readers[number].get();
    const std::string expected = "A1:" + std::to_string(number / 2) + " ";
    EXPECT_EQ(Seen(reader), number % 2 == 0 ? expected : "");
    reader->cursor.Open(&reader->txn, fixture_.index(1), {});
    EXPECT_EQ(reader->cursor.Get(AsBytes("A1"), &view).ok(), number % 2 == 0);
    EXPECT_EQ(reader->cursor.SeekBefore(AsBytes("A2"), &view).ok(), number % 2 == 0);
    if (number % 2 == 0) {
      EXPECT_EQ(AsText(view.key), "A1");
    }
  }
  EXPECT_EQ(Seen(beside.get()), "A1:5 A2:next ");
  beside->cursor.Open(&beside->txn, fixture_.index(1), {});
  ASSERT_TRUE(beside->cursor.SeekAfter(AsBytes("A1"), &view).ok());
  EXPECT_EQ(AsText(view.key), "A2");
  EXPECT_TRUE(beside->cursor.SeekAfter(AsBytes("A2"), &view).Is(Code::kEndOfRange));
  ASSERT_TRUE(fixture_.Rollback(beside.get()).ok());
  for (auto& reader : readers) ASSERT_TRUE(fixture_.Commit(reader.get()).ok());
  fixture_.Purge();
  EXPECT_EQ(fixture_.Raw(1).size(), 1u);
  auto last = NewActor();
  EXPECT_EQ(Seen(last.get()), "A1:5 ");
  ASSERT_TRUE(Drop(last.get(), "A1").ok());  // its tree key may carry a repeat number
  ASSERT_TRUE(fixture_.Commit(last.get()).ok());
  fixture_.Purge();
  EXPECT_EQ(fixture_.Raw(1).size(), 0u);
}

// Purge passes while a revived entry hides the mark that it came for.
TEST_F(SecondaryTest, RollbackOfARevivedEntryLeavesNoGarbage) {
  auto blocker = NewActor();  // keeps low ids undecided, so that "seen by all" needs the horizon
  ASSERT_TRUE(Put(blocker.get(), "Z9", "").ok());
  auto setup = NewActor();
  ASSERT_TRUE(Put(setup.get(), "A1", "old").ok());
  ASSERT_TRUE(fixture_.Commit(setup.get()).ok());
  setup = NewActor();
  ASSERT_TRUE(Drop(setup.get(), "A1").ok());
  ASSERT_TRUE(fixture_.Commit(setup.get()).ok());
  fixture_.manager()->RefreshHorizon();
  auto writer = NewActor();
  ASSERT_TRUE(Put(writer.get(), "A1", "new").ok());
  EXPECT_EQ(fixture_.Raw(1).size(), 2u);
  fixture_.Purge();
  ASSERT_TRUE(fixture_.Rollback(writer.get()).ok());
  ASSERT_TRUE(fixture_.Rollback(blocker.get()).ok());
  fixture_.Purge();
  EXPECT_EQ(fixture_.Raw(1).size(), 0u);
}

TEST_F(SecondaryTest, UniqueFindsLiveEntriesOnly) {
  auto actor = NewActor();
  ASSERT_TRUE(PutUnique(actor.get(), "AAAA1").ok());
  EXPECT_TRUE(PutUnique(actor.get(), "AAAA2").Is(Code::kDuplicate));
  ASSERT_TRUE(PutUnique(actor.get(), "AAAB2").ok());
  ASSERT_TRUE(fixture_.Commit(actor.get()).ok());

  auto other = NewActor();
  ASSERT_TRUE(other->entry_writer.Delete(&other->txn, fixture_.index(2), AsBytes("AAAA1")).ok());
  ASSERT_TRUE(PutUnique(other.get(), "AAAA3").ok());
  auto third = NewActor();
  third->txn.locks.wait_timeout_s = 0;
  EXPECT_TRUE(PutUnique(third.get(), "AAAA4").Is(Code::kLockTimeout));
  ASSERT_TRUE(fixture_.Rollback(other.get()).ok());
  EXPECT_TRUE(PutUnique(third.get(), "AAAA4").Is(Code::kDuplicate));
  ASSERT_TRUE(fixture_.Rollback(third.get()).ok());
  EXPECT_EQ(fixture_.manager()->locks()->lock_count(), 0u);
}

TEST_F(SecondaryTest, DuplicateIsLockedUntilTheEnd) {
  auto setup = NewActor();
  ASSERT_TRUE(PutUnique(setup.get(), "AAAA1").ok());
  ASSERT_TRUE(fixture_.Commit(setup.get()).ok());
  for (const LockMode mode : {LockMode::kShared, LockMode::kExclusive}) {
    auto actor = NewActor();
    EXPECT_TRUE(PutUnique(actor.get(), "AAAA2", mode).Is(Code::kDuplicate));
    auto other = NewActor();
    other->txn.locks.wait_timeout_s = 0;
    EXPECT_EQ(PutUnique(other.get(), "AAAA3").code(),
              mode == LockMode::kExclusive ? Code::kLockTimeout : Code::kDuplicate);
    EXPECT_TRUE(other->entry_writer.Delete(&other->txn, fixture_.index(2), AsBytes("AAAA1"))
                    .Is(Code::kLockTimeout));
    ASSERT_TRUE(fixture_.Rollback(actor.get()).ok());
    ASSERT_TRUE(fixture_.Rollback(other.get()).ok());
  }
}

// Threads race for a few unique values; each committed winner is the only owner of its value.
TEST_F(SecondaryTest, UniqueHoldsBetweenThreads) {
  constexpr int kThreads = 4;
  constexpr int kTries = 150;
  constexpr uint32_t kValues = 5;
  std::atomic<int> wins[kValues] = {};
  std::atomic<int> unexpected{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      Random random(TestSeed() + static_cast<uint64_t>(thread));
      Actor actor(fixture_.manager());
      for (int attempt = 0; attempt < kTries; ++attempt) {
        RowFixture::Begin(&actor);
        const auto value = static_cast<uint32_t>(random.Below(kValues));
        const auto id = static_cast<uint32_t>(thread * kTries + attempt);
        const std::string key = BigEndian(value) + BigEndian(id);
        Status status =
            actor.entry_writer.Insert(&actor.txn, fixture_.index(2), {2, AsBytes(key), {}, 4},
                                      random.OneIn(2) ? LockMode::kShared : LockMode::kExclusive);
        if (status.ok()) {
          EXPECT_EQ(wins[value].fetch_add(1), 0) << "two owners of one value";
          const bool keep = random.OneIn(2);
          if (keep) status = actor.entry_writer.Delete(&actor.txn, fixture_.index(2), AsBytes(key));
          wins[value].fetch_sub(1);
          status = status.ok() && keep ? fixture_.Commit(&actor) : fixture_.Rollback(&actor);
          if (!status.ok()) ++unexpected;
        } else {
          if (!status.Is(Code::kDuplicate) && !status.Is(Code::kDeadlock)) ++unexpected;
          if (!fixture_.Rollback(&actor).ok()) ++unexpected;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(unexpected.load(), 0);
  fixture_.Purge();
  EXPECT_EQ(fixture_.Raw(2).size(), 0u);
  EXPECT_EQ(fixture_.manager()->locks()->lock_count(), 0u);
}

}  // namespace
}  // namespace rowan
