// SPDX-License-Identifier: GPL-2.0-only
// Rows whose entries in index 1 are not those that their values give now: what computes them has
// changed since. Changes of such rows find the stored entries, and nothing of them is left behind
// after commit and purge, rollback, or a crash.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/random.h"
#include "engine/entry_search.h"
#include "mvcc/row/row_header.h"
#include "tests/engine/await_purge.h"
#include "tests/engine/engine_fixture.h"
#include "tests/support/log_capture.h"

namespace rowan::entry_search_test {
namespace {

constexpr uint32_t kIndex = 1;
constexpr uint64_t kRows = 400;

class EntrySearchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(world_.Open().ok());
    table_ = world_.CreateTable("test/t");
    ASSERT_NE(table_, nullptr);
  }
  std::unique_ptr<Session> Begin() {
    std::unique_ptr<Session> session = world_.engine->NewSession();
    session->Begin(IsolationLevel::kRepeatableRead);
    return session;
  }
  /// Entries of the rows are made with this added to their values.
  static std::string EntryKey(uint64_t id, const ToyRow& row, uint32_t setting) {
    return ToyValueEntry(id, {row.value + setting, 0, ""});
  }

  // --- changes of one row by a session with a setting; `search` null: it does not search ---
  Status Insert(Session* session, uint64_t id, const ToyRow& row, uint32_t setting) {
    const std::string value = EntryKey(id, row, setting);
    const std::string unique = ToyUniqueEntry(id, row);
    const IndexEntry entries[] = {{1, AsBytes(value), {}, 0, true},
                                  {2, AsBytes(unique), {}, kToyUniqueBytes}};
    return session->InsertRow(table_.get(), AsBytes(ToyKey(id)), AsBytes(ToyEncode(row)), entries);
  }
  Status Delete(Session* session, uint64_t id, const ToyRow& row, uint32_t setting,
                EntrySearch* search) {
    std::string value = EntryKey(id, row, setting);
    const std::string unique = ToyUniqueEntry(id, row);
    const auto remove = [&] {
      const IndexEntry entries[] = {{2, AsBytes(unique), {}, kToyUniqueBytes},
                                    {1, AsBytes(value), {}, 0, true}};
      return session->DeleteRow(table_.get(), AsBytes(ToyKey(id)), entries);
    };
    return Search(session, id, remove(), search, &value, remove);
  }
  Status Update(Session* session, uint64_t id, const ToyRow& before, const ToyRow& after,
                uint32_t setting, EntrySearch* search) {
    std::string old_value = EntryKey(id, before, setting);
    const std::string new_value = EntryKey(id, after, setting);
    const std::string key = ToyKey(id);
    const auto update = [&] {
      std::vector<EntryChange> changes;
      if (old_value != new_value) {
        changes.push_back(
            {{1, AsBytes(old_value), {}, 0, true}, {1, AsBytes(new_value), {}, 0, true}});
      }
      return session->UpdateRow(table_.get(), AsBytes(key), AsBytes(key), AsBytes(ToyEncode(after)),
                                changes);
    };
    return Search(session, id, update(), search, &old_value, update);
  }
  Status Search(Session* session, uint64_t id, Status status, EntrySearch* search, std::string* key,
                FunctionRef<Status()> again) {
    if (!IsOtherEntry(status) || search == nullptr) return status;
    EXPECT_EQ(status.detail(), kIndex);
    EncodedEntry found;
    const std::string row_key = ToyKey(id);
    status = search->FindOne(Target(session, row_key), &found);
    if (!status.ok()) return status;
    key->assign(AsText(found.key));
    return again();
  }
  EntrySearch::Target Target(Session* session, const std::string& row_key) {
    return {session, table_.get(), &ToyCodec(), kIndex, AsBytes(row_key)};
  }

  /// Commits rows that a session with this setting has written.
  void Fill(uint64_t rows, uint32_t values, uint32_t setting) {
    const std::unique_ptr<Session> session = Begin();
    for (uint64_t id = 1; id <= rows; ++id) {
      rows_[id] = {static_cast<uint32_t>(id * 2654435761U % values), static_cast<uint32_t>(id * 7),
                   "text"};
      ASSERT_TRUE(Insert(session.get(), id, rows_[id], setting).ok());
    }
    ASSERT_TRUE(session->Commit().ok());
  }
  /// The entries that a session's snapshot shows, by row.
  std::map<uint64_t, std::string> EntriesIn(Session* session) {
    std::map<uint64_t, std::string> entries;
    TableCursor cursor(session, table_.get(), &ToyCodec());
    EXPECT_TRUE(cursor
                    .VisitEntries(kIndex,
                                  [&](Bytes key, Bytes) {
                                    const uint64_t id = LoadBe64(key.last(8).data());
                                    EXPECT_TRUE(entries.emplace(id, AsText(key)).second) << id;
                                    return Status::Ok();
                                  })
                    .ok());
    return entries;
  }
  /// Each row of the model has one entry, and nothing else has one, dead ones included.
  void ExpectNothingLeftBehind() {
    AwaitPurge(*world_.engine);
    std::set<uint64_t> ids;
    ASSERT_TRUE(world_.engine
                    ->CheckIndex(table_.get(), kIndex,
                                 [&](Bytes tree_key, Bytes value) {
                                   SecondaryHeader header;
                                   Bytes payload;
                                   EXPECT_TRUE(ParseSecondary(value, &header, &payload));
                                   const Bytes key = StripRepeat(tree_key, header.has_repeat);
                                   const uint64_t id = LoadBe64(key.last(8).data());
                                   EXPECT_TRUE(ids.insert(id).second) << id << " has two";
                                   EXPECT_EQ(rows_.count(id), 1U) << id << " has no row";
                                   return Status::Ok();
                                 })
                    .ok());
    EXPECT_EQ(ids.size(), rows_.size());
    ASSERT_TRUE(world_.engine->CheckSpace(table_.get(), FindToyBlobs).ok());
  }

  EngineFixture world_{TestSeed()};
  std::shared_ptr<Table> table_;
  ToyRows rows_;
};

TEST_F(EntrySearchTest, WithoutASearchTheChangeFailsAndLeavesTheRow) {
  Fill(20, 1000, 5);
  const std::unique_ptr<Session> session = Begin();
  const LogCapture log;
  EXPECT_TRUE(IsOtherEntry(Delete(session.get(), 7, rows_[7], 9, nullptr)));
  ToyRow other = rows_[8];
  other.value += 100;
  EXPECT_TRUE(IsOtherEntry(Update(session.get(), 8, rows_[8], other, 9, nullptr)));
  EXPECT_FALSE(log.Has("damaged")) << log.Text();
  ASSERT_TRUE(session->Commit().ok());
  ExpectNothingLeftBehind();
  EXPECT_EQ(world_.ReadAll(table_.get()), rows_);
}

TEST_F(EntrySearchTest, AnEntryThatIsNotComputedIsStillDamage) {
  Fill(20, 1000, 5);
  const std::unique_ptr<Session> session = Begin();
  const LogCapture log;
  EXPECT_TRUE(EngineFixture::Delete(session.get(), table_.get(), 7, rows_[7]).Is(Code::kCorrupt));
  EXPECT_TRUE(log.Has("the entry to delete is missing")) << log.Text();
}

TEST_F(EntrySearchTest, ARowWithoutAnyEntryIsDamage) {
  Fill(20, 1000, 5);
  const std::unique_ptr<Session> session = Begin();
  const std::string unique = ToyUniqueEntry(7, rows_[7]);
  const IndexEntry entries[] = {{2, AsBytes(unique), {}, kToyUniqueBytes}};
  ASSERT_TRUE(session->DeleteRow(table_.get(), AsBytes(ToyKey(7)), entries).ok());
  ASSERT_TRUE(session->InsertRow(table_.get(), AsBytes(ToyKey(99)), AsBytes("x")).ok());
  EntrySearch search;
  EncodedEntry found;
  const LogCapture log;
  EXPECT_TRUE(search.FindOne(Target(session.get(), ToyKey(99)), &found).Is(Code::kCorrupt));
  EXPECT_TRUE(log.Has("a row has no entry")) << log.Text();
  std::vector<EncodedEntry> none;
  EXPECT_TRUE(search.FindAll(Target(session.get(), ToyKey(99)), &none).ok());
  EXPECT_TRUE(none.empty());
}

TEST_F(EntrySearchTest, FewValuesCostFewSteps) {
  Fill(kRows * 5, 3, 5);
  const std::unique_ptr<Session> session = Begin();
  for (const uint64_t id : {uint64_t{1}, kRows, kRows * 5}) {
    EntrySearch search;
    EncodedEntry found;
    const std::string row_key = ToyKey(id);
    ASSERT_TRUE(search.FindOne(Target(session.get(), row_key), &found).ok());
    EXPECT_EQ(AsText(found.key), EntryKey(id, rows_[id], 5));
    EXPECT_LT(search.walked_entries(), 100U);
  }
}

TEST_F(EntrySearchTest, ManySearchesReadTheIndexOnce) {
  const uint64_t rows = EntrySearch::kWalkedMany + 1000;
  Fill(rows, 1U << 30, 5);
  const std::unique_ptr<Session> session = Begin();
  for (const size_t memory_bytes : {EntrySearch::kMemoryBytesMax, size_t{100}}) {
    EntrySearch search(memory_bytes);
    for (uint64_t id = rows; id > rows - 20; --id) {
      EncodedEntry found;
      const std::string row_key = ToyKey(id);
      ASSERT_TRUE(search.FindOne(Target(session.get(), row_key), &found).ok());
      ASSERT_EQ(AsText(found.key), EntryKey(id, rows_[id], 5));
    }
    // Walks until there were many, the one that keeps all, and one step for each row.
    const bool keeps = memory_bytes > 100;
    EXPECT_EQ(search.walked_entries() < 4 * rows, keeps) << search.walked_entries();
  }
}

TEST_F(EntrySearchTest, WhatIsKeptMayBeOutOfDate) {
  const uint64_t rows = EntrySearch::kWalkedMany + 100;
  Fill(rows, 1U << 30, 5);
  const std::unique_ptr<Session> session = Begin();
  EntrySearch search;
  EncodedEntry found;
  for (uint64_t id = 1; id <= 50; ++id) {
    ASSERT_TRUE(search.FindOne(Target(session.get(), ToyKey(id)), &found).ok());
  }
  const std::unique_ptr<Session> other = Begin();
  ToyRow changed = rows_[9];
  changed.value = 77;
  ASSERT_TRUE(Update(other.get(), 9, rows_[9], changed, 5, nullptr).ok());
  ASSERT_TRUE(Insert(other.get(), rows + 1, {5, 3, ""}, 5).ok());
  ASSERT_TRUE(other->Commit().ok());
  ASSERT_TRUE(search.FindOne(Target(session.get(), ToyKey(9)), &found).ok());
  EXPECT_EQ(AsText(found.key), EntryKey(9, changed, 5));
  ASSERT_TRUE(search.FindOne(Target(session.get(), ToyKey(rows + 1)), &found).ok());
  EXPECT_EQ(AsText(found.key), EntryKey(rows + 1, {5, 3, ""}, 5));
}

TEST_F(EntrySearchTest, AKillEndsASearch) {
  Fill(20, 1000, 5);
  const std::unique_ptr<Session> session = Begin();
  session->Interrupt();
  EntrySearch search;
  EncodedEntry found;
  EXPECT_TRUE(search.FindOne(Target(session.get(), ToyKey(7)), &found).Is(Code::kInterrupted));
}

TEST_F(EntrySearchTest, ARepeatIsFoundAndTheDeadOneBesideItIsNot) {
  Fill(5, 1000, 5);
  const std::unique_ptr<Session> old = Begin();
  old->OpenSnapshot();
  const std::unique_ptr<Session> session = Begin();
  ToyRow away = rows_[3];
  away.value += 50;
  ASSERT_TRUE(Update(session.get(), 3, rows_[3], away, 5, nullptr).ok());
  ASSERT_TRUE(session->Commit().ok());
  session->Begin(IsolationLevel::kRepeatableRead);
  ASSERT_TRUE(Update(session.get(), 3, away, rows_[3], 5, nullptr).ok());
  ASSERT_TRUE(session->Commit().ok());
  session->Begin(IsolationLevel::kRepeatableRead);
  EntrySearch search;
  ASSERT_TRUE(Delete(session.get(), 3, rows_[3], 9, &search).ok());
  ASSERT_TRUE(session->Commit().ok());
  EXPECT_EQ(EntriesIn(old.get()).size(), 5U);
  ASSERT_TRUE(old->Commit().ok());
  rows_.erase(3);
  ExpectNothingLeftBehind();
}

TEST_F(EntrySearchTest, AComputedEntryThatIsThereAlreadyStays) {
  Fill(5, 1000, 5);
  const std::unique_ptr<Session> session = Begin();
  const std::string key = ToyKey(3);
  const std::string value = EntryKey(3, rows_[3], 5);
  const EntryChange change{{.index = 1}, {1, AsBytes(value), {}, 0, true}};
  for (const bool commits : {false, true}) {
    session->Begin(IsolationLevel::kRepeatableRead);
    ASSERT_TRUE(session
                    ->UpdateRow(table_.get(), AsBytes(key), AsBytes(key),
                                AsBytes(ToyEncode(rows_[3])), {&change, 1})
                    .ok());
    ASSERT_TRUE((commits ? session->Commit() : session->Rollback()).ok());
    ExpectNothingLeftBehind();
  }
}

/// Random changes by sessions with different settings, of which some are rolled back, beside old
/// snapshots; then a crash, with a transaction open.
TEST_F(EntrySearchTest, NothingIsLeftBehind) {
  Random random(TestSeed());
  Fill(kRows, 40, 0);
  const TableId id_of_table = table_->id();
  for (int turn = 0; turn < 60; ++turn) {
    SCOPED_TRACE(turn);
    const std::unique_ptr<Session> old = Begin();
    old->OpenSnapshot();
    const std::map<uint64_t, std::string> before = EntriesIn(old.get());
    ASSERT_EQ(before.size(), rows_.size());
    ToyRows after = rows_;
    const std::unique_ptr<Session> session = Begin();
    EntrySearch search;
    for (uint64_t changes = random.Below(30); changes > 0; --changes) {
      const auto setting = static_cast<uint32_t>(random.Below(3) * 7);
      const uint64_t id = 1 + random.Below(kRows);
      const ToyRow row{static_cast<uint32_t>(random.Below(40)), static_cast<uint32_t>(id * 7), "t"};
      const auto found = after.find(id);
      const UndoPosition place = session->Savepoint();
      if (found == after.end()) {
        ASSERT_TRUE(Insert(session.get(), id, row, setting).ok());
      } else if (random.OneIn(3)) {
        ASSERT_TRUE(Delete(session.get(), id, found->second, setting, &search).ok());
      } else {
        ToyRow changed = row;
        changed.unique = found->second.unique;
        ASSERT_TRUE(Update(session.get(), id, found->second, changed, setting, &search).ok());
      }
      if (random.OneIn(4)) {
        ASSERT_TRUE(session->RollbackTo(place).ok());
      } else if (found == after.end()) {
        after[id] = row;
      } else if (EntriesIn(session.get()).count(id) == 0) {
        after.erase(id);
      } else {
        found->second.value = row.value;
        found->second.text = row.text;
      }
    }
    EXPECT_EQ(EntriesIn(old.get()), before);
    if (random.OneIn(4)) {
      ASSERT_TRUE(session->Rollback().ok());
    } else {
      ASSERT_TRUE(session->Commit().ok());
      rows_ = after;
    }
    EXPECT_EQ(EntriesIn(old.get()), before);
  }
  ExpectNothingLeftBehind();
  {
    const std::unique_ptr<Session> open = Begin();
    EntrySearch search;
    for (const auto& [id, row] : rows_) {
      ASSERT_TRUE(Delete(open.get(), id, row, 3, &search).ok());
    }
    const std::unique_ptr<Session> durable = Begin();
    ASSERT_TRUE(Insert(durable.get(), kRows + 1, {1, 1, ""}, 3).ok());
    rows_[kRows + 1] = {1, 1, ""};
    ASSERT_TRUE(durable->Commit().ok());
    ASSERT_TRUE(world_.engine->FlushLog().ok());
    world_.files.PowerOffAfter(0);
    table_.reset();
  }
  world_.Crash(TestSeed());
  ASSERT_TRUE(world_.Open().ok());
  table_ = world_.engine->OpenTable(id_of_table).value();
  EXPECT_EQ(world_.ReadAll(table_.get()), rows_);
  ExpectNothingLeftBehind();
}

}  // namespace
}  // namespace rowan::entry_search_test
