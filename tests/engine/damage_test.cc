// SPDX-License-Identifier: GPL-2.0-only
// A table's file that is bad when redo needs it. Damaged: the table is marked and refused by name,
// the others are served, and it can be dropped. Away or not to be read: what it lacks waits for it,
// and it is whole once it can be read again.
#include <gtest/gtest.h>

#include <string>

#include "mvcc/undo/undo_page.h"
#include "tests/engine/engine_fixture.h"
#include "tests/support/await.h"
#include "tests/support/log_capture.h"

namespace rowan::damage_test {
namespace {

constexpr uint64_t kRows = 300;
constexpr uint32_t kStreamsMax = 16384;  // docs/formats/undo.md

class DamageTest : public ::testing::TestWithParam<bool> {
 protected:
  /// Two tables with rows on disk and changes of both in the log; the process vanishes.
  void SetUp() override {
    world_.options.storage.background = GetParam();
    ASSERT_TRUE(world_.Open().ok());
    good_ = Fill("test/good");
    bad_ = Fill("test/bad");
    ASSERT_TRUE(world_.Shutdown().ok());
    ASSERT_TRUE(world_.Open().ok());
    Change(good_);
    Change(bad_);
    ASSERT_TRUE(world_.engine->FlushLog().ok());
    world_.engine.reset();
  }

  TableId Fill(const std::string& name) {
    const std::shared_ptr<Table> table = world_.CreateTable(name);
    path_ = "/rowan/space_" + std::to_string(table->definition().space.value());
    std::unique_ptr<Session> session = world_.engine->NewSession();
    session->Begin(IsolationLevel::kRepeatableRead);
    for (uint64_t id = 0; id < kRows; ++id) {
      EXPECT_TRUE(EngineFixture::Insert(session.get(), table.get(), id, RowOf(id)).ok());
    }
    EXPECT_TRUE(session->Commit(Durability::kDurable).ok());
    return table->id();
  }
  void Change(TableId id, uint64_t first = kRows) {
    Result<std::shared_ptr<Table>> table = world_.engine->OpenTable(id);
    ASSERT_TRUE(table.ok());
    std::unique_ptr<Session> session = world_.engine->NewSession();
    session->Begin(IsolationLevel::kRepeatableRead);
    for (uint64_t row = first; row < first + 5; ++row) {
      ASSERT_TRUE(EngineFixture::Insert(session.get(), table->get(), row, RowOf(row)).ok());
    }
    ASSERT_TRUE(session->Commit(Durability::kDurable).ok());
  }
  static ToyRow RowOf(uint64_t id) {
    ToyRow row;
    row.value = static_cast<uint32_t>(id % 7);
    row.unique = static_cast<uint32_t>(id);
    row.text = std::string(50, 'x');
    return row;
  }
  std::string Space() const { return path_ + ".rws"; }
  std::string Mark() const { return path_ + ".damaged"; }
  std::string Kept() const { return path_ + ".redo"; }

  void PutAway() { ASSERT_TRUE(world_.files.Rename(Space(), "/rowan/away").ok()); }
  void PutBack() { ASSERT_TRUE(world_.files.Rename("/rowan/away", Space()).ok()); }
  void OpenAgain() {
    if (world_.engine != nullptr) world_.engine.reset();
    ASSERT_TRUE(world_.Open().ok()) << log_.Text();
  }
  static ToyRows AllRows() {
    ToyRows rows;
    for (uint64_t id = 0; id < kRows + 5; ++id) rows[id] = RowOf(id);
    return rows;
  }
  /// After another start at the latest, which lets no rollback wait.
  void ExpectWhole() {
    WaitForRedo();
    world_.ExpectTable(bad_, AllRows());
    world_.ExpectTable(good_, AllRows());
    ASSERT_TRUE(world_.Shutdown().ok());
    EXPECT_FALSE(world_.files.Exists(Mark()).value());
    EXPECT_FALSE(world_.files.Exists(Kept()).value());
    ASSERT_TRUE(world_.Open().ok());
    world_.ExpectTable(bad_, AllRows());
    Change(bad_, kRows + 5);
    ASSERT_TRUE(world_.Shutdown().ok());
  }

  /// Everything but page 0 and the first bitmap page, so that it is a tree page that redo misses.
  void FillWithGarbage(uint32_t first_page) {
    Result<std::unique_ptr<File>> file = world_.files.Open(Space(), {});
    ASSERT_TRUE(file.ok());
    const uint64_t page = world_.options.storage.page_size_bytes;
    std::vector<std::byte> garbage((*file)->Size().value() - first_page * page, std::byte{0x5a});
    ASSERT_TRUE((*file)->Write(first_page * page, garbage).ok());
  }
  void WaitForRedo() {
    ASSERT_TRUE(Await([&] { return !world_.engine->redoing(); }));
  }
  /// The bad table is refused, the good one whole.
  void ExpectOnlyTheOther() {
    const Result<std::shared_ptr<Table>> bad = world_.engine->OpenTable(bad_);
    EXPECT_TRUE(!bad.ok() || world_.options.storage.recovery.force);
    ToyRows rows;
    for (uint64_t id = 0; id < kRows + 5; ++id) rows[id] = RowOf(id);
    world_.ExpectTable(good_, rows);
  }
  void ExpectMarkedForGood() {
    ASSERT_TRUE(world_.Open().ok());
    WaitForRedo();
    EXPECT_TRUE(world_.engine->OpenTable(bad_).status().Is(Code::kCorrupt));
    EXPECT_TRUE(log_.Has("Table 'test/bad' is damaged")) << log_.Text();
    EXPECT_TRUE(world_.files.Exists(Mark()).value());
    ExpectOnlyTheOther();
    ASSERT_TRUE(world_.Shutdown().ok());
    ASSERT_TRUE(world_.Open().ok()) << "with the log recycled";
    EXPECT_TRUE(world_.engine->OpenTable(bad_).status().Is(Code::kCorrupt));
    ExpectOnlyTheOther();
    Drop();
    EXPECT_FALSE(world_.files.Exists(Mark()).value());
    EXPECT_FALSE(world_.files.Exists(Space()).value());
    EXPECT_TRUE(!GetParam() || Await([&] { return !world_.files.Exists(Kept()).value(); }));
    ASSERT_TRUE(world_.Shutdown().ok());
    EXPECT_FALSE(world_.files.Exists(Kept()).value());
  }
  void Drop() {
    std::unique_ptr<Session> session = world_.engine->NewSession();
    session->Begin(IsolationLevel::kRepeatableRead);
    ASSERT_TRUE(world_.engine->DropTable(session.get(), bad_).ok());
    ASSERT_TRUE(session->Commit(Durability::kDurable).ok());
    session->FinishDdl();
  }

  LogCapture log_;
  EngineFixture world_{TestSeed()};
  TableId good_;
  TableId bad_;
  std::string path_;  ///< of the bad table's file, without its ending
};

TEST_P(DamageTest, AFileThatIsMissingIsWholeOnceItIsBack) {
  // Without background threads somebody has to say that none is waited for.
  world_.options.storage.recovery.force = !GetParam();
  PutAway();
  OpenAgain();
  EXPECT_TRUE(log_.Has("is missing or cannot be opened")) << log_.Text();
  EXPECT_TRUE(log_.Has("Changes of table 'test/bad'")) << log_.Text();
  ExpectOnlyTheOther();
  EXPECT_TRUE(world_.engine->OpenTable(bad_).status().Is(Code::kIoError));
  PutBack();
  ExpectWhole();
}

TEST_P(DamageTest, AFileThatIsMissingIsWholeOnceItIsBackAfterACrash) {
  world_.options.storage.recovery.force = !GetParam();
  PutAway();
  OpenAgain();
  ExpectOnlyTheOther();
  OpenAgain();
  ExpectOnlyTheOther();
  PutBack();
  OpenAgain();
  ExpectWhole();
}

TEST_P(DamageTest, AFileThatIsMissingIsWholeOnceItIsBackAfterShutdowns) {
  world_.options.storage.recovery.force = !GetParam();
  PutAway();
  for (int i = 0; i < 2; ++i) {
    OpenAgain();
    ExpectOnlyTheOther();
    ASSERT_TRUE(world_.Shutdown().ok());
    EXPECT_TRUE(world_.files.Exists(Kept()).value());
  }
  PutBack();
  OpenAgain();
  ExpectWhole();
}

TEST_P(DamageTest, ATableWhoseFileIsMissingCanBeDropped) {
  world_.options.storage.recovery.force = !GetParam();
  PutAway();
  OpenAgain();
  ASSERT_TRUE(world_.Shutdown().ok());
  ASSERT_TRUE(world_.Open().ok());
  Drop();
  ASSERT_TRUE(world_.Shutdown().ok());
  EXPECT_FALSE(world_.files.Exists(Kept()).value());
  ASSERT_TRUE(world_.Open().ok());
  ExpectOnlyTheOther();
}

TEST_P(DamageTest, WhatIsKeptOfATableIsDamaged) {
  world_.options.storage.recovery.force = !GetParam();
  PutAway();
  OpenAgain();
  ASSERT_TRUE(world_.Shutdown().ok());
  PutBack();
  ASSERT_TRUE(world_.files.FlipBit(Kept(), 70, 3));
  OpenAgain();
  EXPECT_TRUE(log_.Has(Kept() + "' with kept log records is damaged")) << log_.Text();
  EXPECT_TRUE(world_.files.Exists(Mark()).value());
  ExpectOnlyTheOther();
}

TEST_P(DamageTest, RedoThatWaitsForAFileLeavesTheLogToTheOthers) {
  world_.options.storage.recovery.force = !GetParam();
  world_.files.Inject({.call = FileCall::kRead, .path_part = Space(), .lasting = true});
  OpenAgain();
  Result<std::shared_ptr<Table>> table = world_.engine->OpenTable(good_);
  ASSERT_TRUE(table.ok());
  ToyRow row = RowOf(1);
  for (int round = 0; world_.engine->redoing() || round < 20; ++round) {
    std::unique_ptr<Session> session = world_.engine->NewSession();
    session->Begin(IsolationLevel::kRepeatableRead);
    for (int i = 0; i < 100; ++i) {
      ToyRow next = row;
      next.text = std::string(static_cast<size_t>(40 + (round + i) % 20), 'y');
      ASSERT_TRUE(EngineFixture::Update(session.get(), table->get(), 1, row, next).ok());
      row = next;
    }
    ASSERT_TRUE(session->Commit(Durability::kDurable).ok());
  }
  EXPECT_TRUE(world_.files.Exists(Kept()).value());
  EXPECT_FALSE(world_.files.Exists(Mark()).value());
  std::unique_ptr<Session> session = world_.engine->NewSession();
  session->Begin(IsolationLevel::kRepeatableRead);
  ASSERT_TRUE(EngineFixture::Update(session.get(), table->get(), 1, row, RowOf(1)).ok());
  ASSERT_TRUE(session->Commit(Durability::kDurable).ok());
  session.reset();
  table = Status(Code::kNotFound);
  world_.engine.reset();
  world_.files.ClearFaults();
  ASSERT_TRUE(world_.Open().ok());
  ExpectWhole();
}

TEST_P(DamageTest, AnEmptyFile) {
  Result<std::unique_ptr<File>> file = world_.files.Open(Space(), {});
  ASSERT_TRUE((*file)->Truncate(0).ok());
  ExpectMarkedForGood();
}

TEST_P(DamageTest, PagesOfGarbageThatRedoNeeds) {
  FillWithGarbage(2);
  ExpectMarkedForGood();
}

TEST_P(DamageTest, AFileThatCannotBeOpenedIsWholeOnceItCanBe) {
  world_.files.Inject({.call = FileCall::kOpen, .path_part = Space(), .lasting = true});
  // Without background threads the start waits for nothing: it fails. With them the others are
  // served, and the table is tried again.
  const Status opened = world_.Open();
  EXPECT_EQ(opened.ok(), GetParam()) << CodeName(opened.code()) << opened.message();
  EXPECT_TRUE(Await([&] { return log_.Has(Space() + "' cannot be"); })) << log_.Text();
  if (opened.ok()) ExpectOnlyTheOther();
  world_.engine.reset();
  EXPECT_FALSE(world_.files.Exists(Mark()).value());
  world_.options.storage.recovery.force = true;
  ASSERT_TRUE(world_.Open().ok());
  ExpectOnlyTheOther();
  world_.engine.reset();
  EXPECT_FALSE(world_.files.Exists(Mark()).value());
  world_.files.ClearFaults();
  world_.options.storage.recovery.force = false;
  ASSERT_TRUE(world_.Open().ok());
  ExpectWhole();
}

TEST_P(DamageTest, AFileThatCannotBeOpenedAndLacksNothingIsMissedByNobodyElse) {
  ASSERT_TRUE(world_.Open().ok());
  ASSERT_TRUE(world_.Shutdown().ok());
  world_.files.Inject({.call = FileCall::kOpen, .path_part = Space(), .lasting = true});
  ASSERT_TRUE(world_.Open().ok());
  ExpectOnlyTheOther();
  world_.engine.reset();
  world_.files.ClearFaults();
  ASSERT_TRUE(world_.Open().ok());
  EXPECT_TRUE(world_.engine->OpenTable(bad_).ok());
}

TEST_P(DamageTest, AFileThatCannotBeReadForAWhileLosesNothing) {
  world_.files.Inject({.call = FileCall::kRead, .path_part = Space(), .lasting = true});
  const Status opened = world_.Open();
  EXPECT_TRUE(!opened.ok() || !world_.engine->OpenTable(bad_).ok());
  world_.engine.reset();
  world_.files.ClearFaults();
  ASSERT_TRUE(world_.Open().ok());
  EXPECT_FALSE(world_.files.Exists(Mark()).value());
  ToyRows rows;
  for (uint64_t id = 0; id < kRows + 5; ++id) rows[id] = RowOf(id);
  world_.ExpectTable(bad_, rows);
}

TEST_P(DamageTest, AnUndoSpaceThatRedoCannotBringUpToDateKeepsAllClosedUnlessForced) {
  path_ = "/rowan/space_2";
  // Behind the directory of the streams.
  const uint32_t slots = DirectorySlotsPerPage(world_.options.storage.page_size_bytes);
  FillWithGarbage(2 + (kStreamsMax + slots - 1) / slots);
  EXPECT_TRUE(world_.Open().Is(Code::kCorrupt));
  EXPECT_TRUE(log_.Has("of /rowan/space_2.rws is damaged")) << log_.Text();
  world_.engine.reset();
  world_.options.storage.recovery.force = true;
  const Status forced = world_.Open();
  ASSERT_TRUE(forced.ok()) << CodeName(forced.code()) << forced.message() << log_.Text();
  WaitForRedo();
  ToyRows rows;
  for (uint64_t id = 0; id < kRows + 5; ++id) rows[id] = RowOf(id);
  world_.ExpectTable(good_, rows);
  world_.ExpectTable(bad_, rows);
}

TEST_P(DamageTest, ASystemSpaceThatRedoCannotBringUpToDateKeepsAllClosed) {
  path_ = "/rowan/space_1";
  FillWithGarbage(2);
  EXPECT_TRUE(world_.Open().Is(Code::kCorrupt));
  EXPECT_TRUE(log_.Has("of /rowan/space_1.rws is damaged")) << log_.Text();
}

INSTANTIATE_TEST_SUITE_P(Engine, DamageTest, ::testing::Bool(), [](const auto& instance) {
  return instance.param ? "ServingWhileRedoing" : "RedoneBeforeServing";
});

}  // namespace
}  // namespace rowan::damage_test
