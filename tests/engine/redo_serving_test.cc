// SPDX-License-Identifier: GPL-2.0-only
// An instance that serves while it redoes. One table's file that cannot be read keeps redo from
// ending for as long as a test wants.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "tests/engine/engine_fixture.h"
#include "tests/support/await.h"
#include "tests/support/log_capture.h"

namespace rowan::redo_serving_test {
namespace {

constexpr uint64_t kRows = 300;

class RedoServingTest : public ::testing::Test {
 protected:
  RedoServingTest() {
    world_.options.storage.log.capacity_bytes = uint64_t{1} << 20;
    world_.options.storage.log.buffer_bytes = uint64_t{1} << 16;
    // Without a doublewrite file, which would want to look at the held pages first.
    world_.files.SetAtomicWriteUnitMax(world_.options.storage.page_size_bytes);
    world_.options.storage.buffer.doublewrite = DoublewriteMode::kAtomic;
  }
  /// Rows on disk and changes of both tables in the log.
  void SetUp() override {
    ASSERT_TRUE(world_.Open().ok());
    good_ = Create("test/good", &good_rows_);
    held_ = Create("test/held", &held_rows_);
    ASSERT_TRUE(world_.Shutdown().ok());
    ASSERT_TRUE(world_.Open().ok());
    Change(good_, &good_rows_);
    Change(held_, &held_rows_);
    ASSERT_TRUE(world_.engine->FlushLog().ok());
  }

  TableId Create(const std::string& name, ToyRows* rows) {
    const std::shared_ptr<Table> table = world_.CreateTable(name);
    path_ = "/rowan/space_" + std::to_string(table->definition().space.value());
    for (uint64_t id = 0; id < kRows; ++id) (*rows)[id] = RowOf(id, 'x');
    std::unique_ptr<Session> session = Begin();
    for (const auto& [id, row] : *rows) {
      EXPECT_TRUE(EngineFixture::Insert(session.get(), table.get(), id, row).ok());
    }
    EXPECT_TRUE(session->Commit(Durability::kDurable).ok());
    return table->id();
  }
  static ToyRow RowOf(uint64_t id, char text) {
    ToyRow row;
    row.value = static_cast<uint32_t>(id % 7);
    row.unique = static_cast<uint32_t>(id);
    row.text = std::string(50, text);
    return row;
  }
  std::unique_ptr<Session> Begin() {
    std::unique_ptr<Session> session = world_.engine->NewSession();
    session->Begin(IsolationLevel::kRepeatableRead);
    return session;
  }
  std::shared_ptr<Table> Use(TableId id) {
    Result<std::shared_ptr<Table>> table = world_.engine->OpenTable(id);
    EXPECT_TRUE(table.ok()) << table.status().message();
    return table.ok() ? *table : nullptr;
  }
  /// Updates, deletes and inserts, committed.
  void Change(TableId id, ToyRows* rows) {
    const std::shared_ptr<Table> table = Use(id);
    std::unique_ptr<Session> session = Begin();
    const uint64_t first = rows->begin()->first;
    const uint64_t behind = rows->rbegin()->first + 1;
    for (uint64_t row = first; row < first + 5; ++row) {
      ASSERT_TRUE(EngineFixture::Delete(session.get(), table.get(), row, rows->at(row)).ok());
      rows->erase(row);
    }
    for (uint64_t row = first + 5; row < behind; row += 3) {
      ToyRow after = rows->at(row);
      ++after.text[0];
      ASSERT_TRUE(
          EngineFixture::Update(session.get(), table.get(), row, rows->at(row), after).ok());
      rows->at(row) = after;
    }
    for (uint64_t row = behind; row < behind + 5; ++row) {
      (*rows)[row] = RowOf(row, 'y');
      ASSERT_TRUE(EngineFixture::Insert(session.get(), table.get(), row, rows->at(row)).ok());
    }
    ASSERT_TRUE(session->Commit(Durability::kDurable).ok());
  }
  void ChangeUncommitted(Session* session, TableId id, const ToyRows& rows) {
    const std::shared_ptr<Table> table = Use(id);
    const auto& [row, before] = *rows.rbegin();
    ToyRow after = before;
    after.text = "uncommitted";
    ASSERT_TRUE(EngineFixture::Update(session, table.get(), row, before, after).ok());
    ASSERT_TRUE(
        EngineFixture::Insert(session, table.get(), row + 1000, RowOf(row + 1000, 'u')).ok());
  }

  std::string Space() const { return path_ + ".rws"; }
  /// The process vanishes, and the held table's file cannot be read from then on.
  void VanishAndHold() {
    world_.engine.reset();
    Hold();
    ASSERT_TRUE(world_.Open().ok());
    ASSERT_TRUE(world_.engine->redoing());
  }
  void Hold() {
    world_.files.Inject({.call = FileCall::kRead, .path_part = Space(), .lasting = true});
  }
  /// Nor can what its pages lack be kept.
  void VanishAndHoldTheLog() {
    VanishAndHold();
    world_.files.Inject({.call = FileCall::kOpen, .path_part = ".redo", .lasting = true});
  }
  void Damage() {
    Result<std::unique_ptr<File>> file = world_.files.Open(Space(), {});
    ASSERT_TRUE(file.ok());
    const uint64_t page = world_.options.storage.page_size_bytes;
    std::vector<std::byte> garbage((*file)->Size().value() - 2 * page, std::byte{0x5a});
    ASSERT_TRUE((*file)->Write(2 * page, garbage).ok());
    ASSERT_TRUE((*file)->Sync(SyncMethod::kFsync).ok());
  }
  void ExpectBoth() {
    ASSERT_TRUE(Await([this] { return !world_.engine->redoing(); }));
    world_.ExpectTable(good_, good_rows_);
    world_.ExpectTable(held_, held_rows_);
    EXPECT_FALSE(world_.files.Exists(path_ + ".damaged").value());
  }

  LogCapture log_;
  EngineFixture world_{TestSeed()};
  TableId good_;
  TableId held_;
  ToyRows good_rows_;
  ToyRows held_rows_;
  std::string path_;  ///< of the held table's file, without its ending
};

TEST_F(RedoServingTest, NothingIsLostByCrashesWhileRedoing) {
  for (int round = 0; round < 4; ++round) {
    VanishAndHold();
    const Lsn checkpoint = world_.engine->impl()->storage->pool()->Statistics().checkpoint_lsn;
    Change(good_, &good_rows_);
    world_.ExpectTable(good_, good_rows_);
    ASSERT_TRUE(world_.engine->impl()->storage->pool()->FlushAndCheckpoint().ok());
    EXPECT_EQ(world_.engine->impl()->storage->pool()->Statistics().checkpoint_lsn, checkpoint);
    world_.files.ClearFaults();
    if (round % 2 == 0) world_.Crash(TestSeed() + round);
  }
  world_.engine.reset();
  ASSERT_TRUE(world_.Open().ok());
  ExpectBoth();
}

TEST_F(RedoServingTest, WritersWaitForTheEndOfRedoWhenTheLogIsFull) {
  VanishAndHoldTheLog();
  std::atomic<uint64_t> rounds{0};
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (; !stop && rounds < 200 && !HasFatalFailure(); ++rounds) Change(good_, &good_rows_);
  });
  // It gets stuck long before.
  uint64_t seen = UINT64_MAX;
  while (rounds != seen) {
    seen = rounds;
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
  }
  EXPECT_LT(seen, 200U);
  EXPECT_TRUE(world_.engine->redoing());
  world_.files.ClearFaults();
  EXPECT_TRUE(Await([&] { return rounds > seen + 1; }));
  stop = true;
  writer.join();
  ExpectBoth();
  world_.Crash(TestSeed());
  ASSERT_TRUE(world_.Open().ok());
  ExpectBoth();
}

TEST_F(RedoServingTest, ACrashWithTheLogFullOpensAgain) {
  VanishAndHoldTheLog();
  std::thread writer([&] {
    const std::shared_ptr<Table> table = Use(good_);
    Status status;
    while (status.ok()) {
      std::unique_ptr<Session> session = Begin();
      status = EngineFixture::Insert(session.get(), table.get(), 1000000, RowOf(1000000, 'f'));
      if (status.ok()) status = session->Rollback();
    }
  });
  const auto age = [this] {
    return world_.engine->impl()->storage->pool()->Statistics().checkpoint_age_bytes;
  };
  uint64_t seen = 0;
  while (age() != seen) {
    seen = age();
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
  }
  EXPECT_TRUE(world_.engine->redoing());
  world_.files.PowerOffAfter(0);
  writer.join();
  world_.Crash(TestSeed());
  world_.files.ClearFaults();
  ASSERT_TRUE(world_.Open().ok());
  ExpectBoth();
}

TEST_F(RedoServingTest, ATableThatIsNotRedoneCanBeDropped) {
  VanishAndHold();
  std::unique_ptr<Session> session = Begin();
  ASSERT_TRUE(world_.engine->DropTable(session.get(), held_).ok());
  ASSERT_TRUE(session->Commit(Durability::kDurable).ok());
  session->FinishDdl();
  session.reset();
  EXPECT_TRUE(Await([this] { return !world_.engine->redoing(); }));
  EXPECT_FALSE(world_.files.Exists(Space()).value());
  world_.Crash(TestSeed());
  ASSERT_TRUE(world_.Open().ok());
  EXPECT_TRUE(world_.engine->OpenTable(held_).status().Is(Code::kNotFound));
  world_.ExpectTable(good_, good_rows_);
}

TEST_F(RedoServingTest, AShutdownFinishesRedo) {
  world_.engine.reset();
  ASSERT_TRUE(world_.Open().ok());
  Change(good_, &good_rows_);
  ASSERT_TRUE(world_.Shutdown().ok());
  ASSERT_TRUE(world_.Open().ok());
  EXPECT_FALSE(world_.engine->redoing());
  ExpectBoth();
}

TEST_F(RedoServingTest, AShutdownThatCannotFinishRedoLeavesItToTheNextStart) {
  VanishAndHoldTheLog();
  Change(good_, &good_rows_);
  EXPECT_FALSE(world_.Shutdown().ok());
  world_.files.ClearFaults();
  ASSERT_TRUE(world_.Open().ok());
  ExpectBoth();
}

TEST_F(RedoServingTest, ALoserOfATableThatCannotBeReadIsRolledBackWhenItCan) {
  std::unique_ptr<Session> session = Begin();
  ChangeUncommitted(session.get(), good_, good_rows_);
  ChangeUncommitted(session.get(), held_, held_rows_);
  ASSERT_TRUE(world_.engine->FlushLog().ok());
  session.release();  // NOLINT: it dies with the process, not before
  VanishAndHold();
  EXPECT_TRUE(Await([this] { return log_.Has("Rolling back transaction"); }));
  world_.files.ClearFaults();
  EXPECT_TRUE(Await([this] { return world_.engine->Transactions().empty(); }));
  ExpectBoth();
}

TEST_F(RedoServingTest, ADamagedTableHoldsUpNeitherRollbackNorPurgeOfOthers) {
  // Deleted rows of both wait for purge, both have uncommitted and prepared changes.
  std::unique_ptr<Session> session = Begin();
  std::unique_ptr<Session> prepared = Begin();
  ChangeUncommitted(session.get(), good_, good_rows_);
  ChangeUncommitted(session.get(), held_, held_rows_);
  const auto row = std::next(good_rows_.begin(), 10);
  const auto held_row = std::next(held_rows_.begin(), 10);
  ASSERT_TRUE(
      EngineFixture::Delete(prepared.get(), Use(good_).get(), row->first, row->second).ok());
  ASSERT_TRUE(
      EngineFixture::Delete(prepared.get(), Use(held_).get(), held_row->first, held_row->second)
          .ok());
  const std::string_view xid = "xid";
  ASSERT_TRUE(prepared->Prepare(AsBytes(xid)).ok());
  ASSERT_TRUE(world_.engine->FlushLog().ok());
  session.release();   // NOLINT
  prepared.release();  // NOLINT
  world_.engine.reset();
  Damage();
  ASSERT_TRUE(world_.Open().ok());
  ASSERT_EQ(world_.engine->PreparedXids().size(), 1U);
  // May meet the damage before redo has judged it.
  world_.engine->RollbackPrepared("xid").Ignore();
  EXPECT_TRUE(Await([this] { return world_.engine->Transactions().empty(); }));
  EXPECT_TRUE(Await([this] { return world_.engine->Figures().purge.history_length == 0; }));
  world_.ExpectTable(good_, good_rows_);
  EXPECT_TRUE(world_.engine->OpenTable(held_).status().Is(Code::kCorrupt));
  ASSERT_TRUE(world_.Shutdown().ok());
}

TEST_F(RedoServingTest, WhatIsToBePurgedOfADamagedTableIsPassedOverLater) {
  world_.engine.reset();
  Damage();
  world_.options.purge.workers = 0;
  ASSERT_TRUE(world_.Open().ok());
  ASSERT_TRUE(Await([this] { return !world_.engine->redoing(); }));
  EXPECT_NE(world_.engine->Figures().purge.history_length, 0U);
  ASSERT_TRUE(world_.Shutdown().ok());
  world_.options.purge.workers = 1;
  ASSERT_TRUE(world_.Open().ok());
  EXPECT_TRUE(Await([this] { return world_.engine->Figures().purge.history_length == 0; }));
}

TEST_F(RedoServingTest, APageThatCannotBeBroughtInForAnyOtherReasonIsNotDamaged) {
  world_.engine.reset();
  // As without memory, or without room on the disk for a page that has to go.
  world_.files.Inject(
      {.call = FileCall::kRead, .path_part = Space(), .lasting = true, .code = Code::kNoSpace});
  ASSERT_TRUE(world_.Open().ok());
  EXPECT_TRUE(Await([this] { return log_.Has("cannot be read"); })) << log_.Text();
  world_.files.ClearFaults();
  ExpectBoth();
}

TEST_F(RedoServingTest, AMarkThatCannotBeMadeDurableStopsTheEngine) {
  world_.engine.reset();
  Damage();
  world_.files.Inject({.call = FileCall::kSync, .path_part = ".damaged"});
  // Redo may be quicker than the rest of the start, which then fails.
  if (world_.Open().ok()) {
    EXPECT_TRUE(Await([this] { return world_.engine->stopped(); }));
    EXPECT_TRUE(world_.engine->redoing());
  }
  world_.Crash(TestSeed());
  world_.files.ClearFaults();
  ASSERT_TRUE(world_.Open().ok());
  ASSERT_TRUE(Await([this] { return !world_.engine->redoing(); }));
  EXPECT_TRUE(world_.engine->OpenTable(held_).status().Is(Code::kCorrupt));
  EXPECT_TRUE(world_.files.Exists(path_ + ".damaged").value());
}

TEST_F(RedoServingTest, ATableThatIsOpenWhenItIsMarkedIsRefusedToo) {
  world_.engine.reset();
  // Redo cannot read it, whoever opens it can.
  world_.files.Inject({.call = FileCall::kRead,
                       .path_part = Space(),
                       .lasting = true,
                       .whose = InjectedFault::Whose::kOthers});
  ASSERT_TRUE(world_.Open().ok());
  ASSERT_TRUE(Await([this] { return log_.Has("cannot be read"); }));
  std::shared_ptr<Table> table;
  // Not while redo tries the same page.
  ASSERT_TRUE(Await([&] {
    Result<std::shared_ptr<Table>> opened = world_.engine->OpenTable(held_);
    if (opened.ok()) table = *opened;
    return opened.ok();
  }));
  Damage();
  world_.files.ClearFaults();
  EXPECT_TRUE(Await([this] { return !world_.engine->redoing(); }));
  ASSERT_TRUE(world_.files.Exists(path_ + ".damaged").value()) << log_.Text();
  EXPECT_TRUE(table->damaged.load());
  EXPECT_TRUE(world_.engine->OpenTable(held_).status().Is(Code::kCorrupt));
  ASSERT_TRUE(world_.Shutdown().ok());
}

TEST_F(RedoServingTest, NoReadOfTheLogThatFailsCostsATableOrARow) {
  int failures = 0;
  bool failed = true;
  for (uint64_t nth = 1; failed; ++nth) {
    world_.engine.reset();
    world_.files.Inject(
        {.call = FileCall::kRead, .path_part = "redo_", .nth_call = nth, .lasting = true});
    failed = !world_.Open().ok();
    if (!failed) {
      const auto stopped = [this] { return world_.engine->stopped(); };
      ASSERT_TRUE(Await([&] { return !world_.engine->redoing() || stopped(); }));
      failed = stopped();
    }
    failures += failed ? 1 : 0;
    world_.engine.reset();
    world_.files.ClearFaults();
    ASSERT_TRUE(world_.Open().ok());
    ExpectBoth();
    Change(good_, &good_rows_);
    Change(held_, &held_rows_);
    ASSERT_TRUE(world_.engine->FlushLog().ok());
  }
  EXPECT_GT(failures, 3);
  EXPECT_TRUE(log_.Has("cannot be read again"));
}

}  // namespace
}  // namespace rowan::redo_serving_test
