// SPDX-License-Identifier: GPL-2.0-only
// The engine as its users see it: create, write, read, shut down, crash, come back.
#include <gtest/gtest.h>

#include "engine/catalog/catalog_rows.h"
#include "tests/engine/engine_fixture.h"
#include "tests/support/await.h"
#include "tests/support/log_capture.h"

namespace rowan::engine_test {
namespace {

constexpr uint64_t kRows = 500;

ToyRow MakeRow(uint64_t id, uint32_t value) {
  return {value, static_cast<uint32_t>(id), "text of " + std::to_string(id)};
}

ToyRows Fill(EngineFixture* world, Table* table, uint64_t rows) {
  return world->Fill(table, rows,
                     [](uint64_t id) { return MakeRow(id, static_cast<uint32_t>(id % 7)); });
}

TEST(EngineTest, TheStatusReportListsReadersOfTheLog) {
  EngineFixture world(TestSeed());
  ASSERT_TRUE(world.Open().ok());
  Log* log = world.engine->impl()->storage->log();
  auto hold = log->Hold("backup", log->durable(), uint64_t{1} << 20);
  ASSERT_TRUE(hold.ok()) << hold.status().message();
  EXPECT_EQ(world.engine->Figures().log_readers, 1u);
  EXPECT_NE(world.engine->StatusReport().find("reader 'backup' at LSN"), std::string::npos);
  hold->reset();
  EXPECT_EQ(world.engine->Figures().log_readers, 0u);
  EXPECT_EQ(world.engine->Figures().log_held_bytes, 0u);
  EXPECT_GE(world.engine->Figures().log_files, 2u);
}

TEST(EngineTest, RowsSurviveACleanShutdown) {
  EngineFixture world(TestSeed());
  ASSERT_TRUE(world.Open().ok());
  std::shared_ptr<Table> table = world.CreateTable("test/t");
  ASSERT_NE(table, nullptr);
  const TableId id = table->id();
  const ToyRows model = Fill(&world, table.get(), kRows);
  EXPECT_EQ(world.ReadAll(table.get()), model);
  world.CheckTable(table.get(), model);
  table.reset();
  ASSERT_TRUE(world.Shutdown().ok());
  ASSERT_TRUE(world.Open().ok());
  world.ExpectTable(id, model);
}

TEST(EngineTest, CommittedRowsSurviveACrashAndUncommittedOnesDoNot) {
  EngineFixture world(TestSeed());
  ASSERT_TRUE(world.Open().ok());
  std::shared_ptr<Table> table = world.CreateTable("test/t");
  const TableId id = table->id();
  const ToyRows model = Fill(&world, table.get(), kRows);
  {
    // Still open when the power goes: its session is abandoned, not rolled back.
    std::unique_ptr<Session> loser = world.engine->NewSession();
    loser->Begin(IsolationLevel::kRepeatableRead);
    EXPECT_TRUE(EngineFixture::Insert(loser.get(), table.get(), 10001, MakeRow(10001, 1)).ok());
    EXPECT_TRUE(
        EngineFixture::Update(loser.get(), table.get(), 5, model.at(5), MakeRow(5, 99)).ok());
    EXPECT_TRUE(EngineFixture::Delete(loser.get(), table.get(), 6, model.at(6)).ok());
    ASSERT_TRUE(world.engine->FlushLog().ok());
    world.files.PowerOffAfter(0);
  }
  table.reset();
  world.Crash(TestSeed() + 1);
  ASSERT_TRUE(world.Open().ok());
  world.ExpectTable(id, model);
}

TEST(EngineTest, DuplicateLeavesNothingOfTheRow) {
  EngineFixture world(TestSeed());
  ASSERT_TRUE(world.Open().ok());
  const std::shared_ptr<Table> table = world.CreateTable("test/t");
  const ToyRows model = Fill(&world, table.get(), 10);
  std::unique_ptr<Session> session = world.engine->NewSession();
  session->Begin(IsolationLevel::kRepeatableRead);
  ToyRow row = MakeRow(77, 1);
  row.unique = 5;  // taken by row 5
  Status status = EngineFixture::Insert(session.get(), table.get(), 77, row);
  EXPECT_EQ(status.code(), Code::kDuplicate);
  EXPECT_EQ(status.detail(), 2u);
  status = EngineFixture::Insert(session.get(), table.get(), 5, MakeRow(5, 1));
  EXPECT_EQ(status.code(), Code::kDuplicate);
  EXPECT_EQ(status.detail(), 0u);
  EXPECT_TRUE(session->Commit().ok());
  EXPECT_EQ(world.ReadAll(table.get()), model);
  world.CheckTable(table.get(), model);
}

TEST(EngineTest, RolledBackCreateAndDropLeaveTheCatalogAsItWas) {
  EngineFixture world(TestSeed());
  ASSERT_TRUE(world.Open().ok());
  const std::shared_ptr<Table> kept = world.CreateTable("test/kept");
  const ToyRows model = Fill(&world, kept.get(), 50);
  std::unique_ptr<Session> session = world.engine->NewSession();
  session->Begin(IsolationLevel::kRepeatableRead);
  ASSERT_TRUE(
      world.engine->CreateTable(session.get(), EngineFixture::ToyDefinition("test/new"), 1).ok());
  ASSERT_TRUE(world.engine->RenameTable(session.get(), kept->id(), "test/other").ok());
  ASSERT_TRUE(world.engine->DropTable(session.get(), kept->id()).ok());
  ASSERT_TRUE(session->Rollback().ok());
  session->FinishDdl();
  const std::vector<TableDef> tables = world.engine->ListTables();
  ASSERT_EQ(tables.size(), 1u);
  EXPECT_EQ(tables[0].name, "test/kept");
  EXPECT_EQ(world.ReadAll(kept.get()), model);
}

TEST(EngineTest, DroppedTableIsGoneAfterARestart) {
  EngineFixture world(TestSeed());
  ASSERT_TRUE(world.Open().ok());
  std::shared_ptr<Table> table = world.CreateTable("test/t");
  const TableId id = table->id();
  Fill(&world, table.get(), 50);
  table.reset();
  {
    std::unique_ptr<Session> session = world.engine->NewSession();
    session->Begin(IsolationLevel::kRepeatableRead);
    ASSERT_TRUE(world.engine->DropTable(session.get(), id).ok());
    ASSERT_TRUE(session->Commit().ok());
  }
  world.Crash(TestSeed() + 2);  // before FinishDdl
  ASSERT_TRUE(world.Open().ok());
  ASSERT_TRUE(world.engine->RemoveOrphanFiles().ok());
  EXPECT_TRUE(world.engine->ListTables().empty());
  EXPECT_FALSE(world.engine->OpenTable(id).ok());
}

TEST(EngineTest, AutoIncrementRemembersWhatLeftTheTable) {
  EngineFixture world(TestSeed());
  ASSERT_TRUE(world.Open().ok());
  std::shared_ptr<Table> table = world.CreateTable("test/t");
  const TableId id = table->id();
  EXPECT_EQ(table->TakeAutoIncrement({}, 3), 1u);
  EXPECT_EQ(table->TakeAutoIncrement({}, 1), 4u);
  EXPECT_EQ(table->TakeAutoIncrement({.offset = 2, .increment = 5}, 2), 7u);
  EXPECT_EQ(table->TakeAutoIncrement({}, 1), 17u);
  table.reset();
  ASSERT_TRUE(world.Shutdown().ok());
  ASSERT_TRUE(world.Open().ok());
  table = world.engine->OpenTable(id).value();
  EXPECT_EQ(table->auto_increment(), 18u);
  // The values below 21 are found in the table's index again, which this layer cannot read; the
  // one that is about to be deleted is not.
  EXPECT_EQ(table->TakeAutoIncrement({}, 3), 18u);
  ASSERT_TRUE(table->KeepAutoIncrement(20).ok());
  const uint64_t log_tail = world.engine->Figures().log_tail.value();
  ASSERT_TRUE(table->KeepAutoIncrement(19).ok());
  EXPECT_EQ(world.engine->Figures().log_tail.value(), log_tail) << "it was remembered already";
  ASSERT_TRUE(world.engine->FlushLog().ok());
  table.reset();
  world.Crash(TestSeed() + 3);
  ASSERT_TRUE(world.Open().ok());
  table = world.engine->OpenTable(id).value();
  EXPECT_EQ(table->auto_increment(), 21u);
}

TEST(EngineTest, AutoIncrementStopsAtTheEndOfTheRange) {
  EngineFixture world(TestSeed());
  ASSERT_TRUE(world.Open().ok());
  const std::shared_ptr<Table> table = world.CreateTable("test/t");
  table->RaiseAutoIncrement(126);
  EXPECT_EQ(table->TakeAutoIncrement({.most = 127}, 1), 126u);
  EXPECT_EQ(table->TakeAutoIncrement({.most = 127}, 1), 127u);
  EXPECT_EQ(table->TakeAutoIncrement({.most = 127}, 5), 127u);
  EXPECT_EQ(table->TakeAutoIncrement({.offset = 3, .increment = 10, .most = 127}, 1), 127u);
  table->RaiseAutoIncrement(1000);
  EXPECT_EQ(table->TakeAutoIncrement({.most = 127}, 1), UINT64_MAX);
}

TEST(EngineTest, AcknowledgedEndOfAPreparedTransactionSurvivesACrash) {
  EngineFixture world(TestSeed());
  ASSERT_TRUE(world.Open().ok());
  std::shared_ptr<Table> table = world.CreateTable("test/t");
  const TableId id = table->id();
  ToyRows model = Fill(&world, table.get(), 10);
  for (uint64_t row = 101; row <= 103; ++row) {
    std::unique_ptr<Session> session = world.engine->NewSession();
    session->Begin(IsolationLevel::kRepeatableRead);
    EXPECT_TRUE(EngineFixture::Insert(session.get(), table.get(), row, MakeRow(row, 1)).ok());
    EXPECT_TRUE(session->Prepare(AsBytes("xid " + std::to_string(row))).ok());
    session->DetachPrepared();
  }
  ASSERT_TRUE(world.engine->FlushLog().ok());
  EXPECT_TRUE(world.engine->CommitPrepared("xid 101", Durability::kDurable).ok());
  EXPECT_TRUE(world.engine->RollbackPrepared("xid 102").ok());
  world.files.PowerOffAfter(0);
  table.reset();
  world.Crash(TestSeed() + 1);
  ASSERT_TRUE(world.Open().ok());
  EXPECT_EQ(world.engine->PreparedXids(), std::vector<std::string>{"xid 103"});
  EXPECT_TRUE(world.engine->RollbackPrepared("xid 103").ok());
  model[101] = MakeRow(101, 1);
  world.ExpectTable(id, model);
}

TEST(EngineTest, ARenameThatIsRolledBackLeavesTheOldName) {
  EngineFixture world(TestSeed());
  ASSERT_TRUE(world.Open().ok());
  const TableId id = world.CreateTable("test/old")->id();
  const auto name = [&world, id] { return world.engine->OpenTable(id).value()->name(); };
  {
    // A statement, then the transaction.
    std::unique_ptr<Session> session = world.engine->NewSession();
    session->Begin(IsolationLevel::kRepeatableRead);
    ASSERT_TRUE(world.engine->RenameTable(session.get(), id, "test/first").ok());
    const UndoPosition savepoint = session->Savepoint();
    ASSERT_TRUE(world.engine->RenameTable(session.get(), id, "test/second").ok());
    EXPECT_EQ(name(), "test/second");
    ASSERT_TRUE(session->RollbackTo(savepoint).ok());
    EXPECT_EQ(name(), "test/first");
    ASSERT_TRUE(session->Rollback().ok());
    EXPECT_EQ(name(), "test/old");
  }
  {
    // A crash: the next start rolls it back beside its first sessions.
    std::unique_ptr<Session> loser = world.engine->NewSession();
    loser->Begin(IsolationLevel::kRepeatableRead);
    ASSERT_TRUE(world.engine->RenameTable(loser.get(), id, "test/new").ok());
    ASSERT_TRUE(world.engine->FlushLog().ok());
    world.files.PowerOffAfter(0);
  }
  world.Crash(TestSeed() + 1);
  ASSERT_TRUE(world.Open().ok());
  EXPECT_TRUE(Await([&] { return name() == "test/old"; })) << name();
  EXPECT_EQ(world.engine->ListTables().front().name, "test/old");
}

TEST(EngineTest, ADropThatIsRolledBackToASavepointIsForgotten) {
  EngineFixture world(TestSeed());
  ASSERT_TRUE(world.Open().ok());
  const std::shared_ptr<Table> table = world.CreateTable("test/t");
  const ToyRows model = Fill(&world, table.get(), 10);
  std::unique_ptr<Session> session = world.engine->NewSession();
  session->Begin(IsolationLevel::kRepeatableRead);
  const UndoPosition savepoint = session->Savepoint();
  ASSERT_TRUE(world.engine->DropTable(session.get(), table->id()).ok());
  ASSERT_TRUE(session->RollbackTo(savepoint).ok());
  ASSERT_TRUE(session->Commit().ok());
  session->FinishDdl();
  ASSERT_TRUE(world.engine->OpenTable(table->id()).ok());
  EXPECT_FALSE(table->dropped.load());
  EXPECT_EQ(world.ReadAll(table.get()), model);
}

/// A definition of about 100 KB: many indexes with long names and descriptors.
TableDef LargeDefinition(const std::string& name) {
  TableDef definition = EngineFixture::ToyDefinition(name);
  definition.descriptor = std::string(12000, 'd');
  for (int i = 0; i < 62; ++i) {
    IndexDef index;
    index.name = std::string(192, static_cast<char>('a' + i % 26));
    index.descriptor = std::string(1200 + i, 'p');
    definition.indexes.push_back(index);
  }
  return definition;
}

bool SameDefinition(const TableDef& left, const TableDef& right) {
  return EncodeTableDef(left) == EncodeTableDef(right);
}

TEST(EngineTest, ADefinitionLargerThanAPageIsKept) {
  EngineFixture world(TestSeed());
  ASSERT_TRUE(world.Open().ok());
  world.CreateTable("test/small");
  TableId id;
  {
    std::unique_ptr<Session> session = world.engine->NewSession();
    session->Begin(IsolationLevel::kRepeatableRead);
    auto dropped = world.engine->CreateTable(session.get(), LargeDefinition("test/gone"), 1);
    ASSERT_TRUE(dropped.ok()) << dropped.status().message();
    ASSERT_TRUE(session->Rollback().ok());
    session->Begin(IsolationLevel::kRepeatableRead);
    auto created = world.engine->CreateTable(session.get(), LargeDefinition("test/large"), 1);
    ASSERT_TRUE(created.ok()) << created.status().message();
    id = (*created)->id();
    const std::string longer(600, 'n');
    ASSERT_TRUE(world.engine->RenameTable(session.get(), id, longer).ok());
    ASSERT_TRUE(session->Commit().ok());
  }
  const TableDef kept = world.engine->OpenTable(id).value()->definition();
  const auto expect_kept = [&](const std::string& name) {
    TableDef expected = kept;
    expected.name = name;
    ASSERT_EQ(world.engine->ListTables().size(), 2u);
    const TableDef& found = world.engine->OpenTable(id).value()->definition();
    EXPECT_TRUE(SameDefinition(found, expected)) << found.name;
  };
  world.Crash(TestSeed() + 1);
  ASSERT_TRUE(world.Open().ok());
  expect_kept(std::string(600, 'n'));
  {
    // A rename and a drop that are not finished when the power goes.
    std::unique_ptr<Session> loser = world.engine->NewSession();
    loser->Begin(IsolationLevel::kRepeatableRead);
    ASSERT_TRUE(world.engine->RenameTable(loser.get(), id, "test/new").ok());
    ASSERT_TRUE(world.engine->DropTable(loser.get(), id).ok());
    ASSERT_TRUE(world.engine->FlushLog().ok());
    world.files.PowerOffAfter(0);
  }
  world.Crash(TestSeed() + 2);
  ASSERT_TRUE(world.Open().ok());
  EXPECT_TRUE(Await([&] { return world.engine->OpenTable(id).value()->name() != "test/new"; }));
  ASSERT_TRUE(world.Shutdown().ok());
  ASSERT_TRUE(world.Open().ok());
  expect_kept(std::string(600, 'n'));
  {
    std::unique_ptr<Session> session = world.engine->NewSession();
    session->Begin(IsolationLevel::kRepeatableRead);
    ASSERT_TRUE(world.engine->DropTable(session.get(), id).ok());
    ASSERT_TRUE(session->Commit().ok());
    session->FinishDdl();
  }
  ASSERT_TRUE(world.Shutdown().ok());
  ASSERT_TRUE(world.Open().ok());
  EXPECT_EQ(world.engine->ListTables().size(), 1u);
  EXPECT_TRUE(world.engine->CheckSystem().ok());
}

TEST(CatalogRowsTest, ADefinitionIsWholeOrPassedOver) {
  const uint32_t page_bytes = TestPageSizeBytes();
  TableDef large = LargeDefinition("test/large");
  large.id = TableId(7);
  TableDef small = EngineFixture::ToyDefinition("test/small");
  small.id = TableId(5);
  const std::vector<std::string> rows = EncodeCatalogRows(large, page_bytes);
  const auto count = static_cast<uint32_t>(rows.size());
  ASSERT_GT(count, 2u);
  ASSERT_EQ(EncodeCatalogRows(small, page_bytes).size(), 1u);
  // A rename is one row, whatever the length of the name.
  TableDef renamed = large;
  renamed.name = std::string(600, 'n');
  EXPECT_EQ(EncodeCatalogRows(renamed, page_bytes).size(), count);
  for (uint32_t piece = 1; piece < count; ++piece) {
    EXPECT_EQ(EncodeCatalogRows(renamed, page_bytes)[piece], rows[piece]);
  }
  const auto join = [&](uint32_t first, uint32_t last, size_t* tables) {
    CatalogRowJoiner joiner;
    EXPECT_TRUE(joiner.Add(AsBytes(CatalogKey(small.id, 0)), AsBytes(EncodeTableDef(small))).ok());
    Status status;
    for (uint32_t piece = first; piece < last && status.ok(); ++piece) {
      status = joiner.Add(AsBytes(CatalogKey(large.id, piece)), AsBytes(rows[piece]));
    }
    if (status.ok()) status = joiner.Finish();
    *tables = joiner.joined().size();
    EXPECT_TRUE(*tables == 0 || SameDefinition(joiner.joined()[0].definition, small));
    EXPECT_TRUE(*tables < 2 || SameDefinition(joiner.joined()[1].definition, large));
    return status;
  };
  size_t tables = 0;
  EXPECT_TRUE(join(0, count, &tables).ok());
  EXPECT_EQ(tables, 2u);
  // What a CREATE leaves that got to row 1: it writes the first row last.
  EXPECT_TRUE(join(1, count, &tables).ok());
  EXPECT_EQ(tables, 1u);
  EXPECT_TRUE(join(0, count - 1, &tables).Is(Code::kCorrupt));
}

TEST(EngineTest, PagesThatNothingRefersToAreFound) {
  EngineFixture world(TestSeed());
  ASSERT_TRUE(world.Open().ok());
  const std::shared_ptr<Table> table = world.CreateTable("test/t");
  Fill(&world, table.get(), kRows);
  const auto none = [](Bytes, std::vector<BlobRef>*) {};
  EXPECT_TRUE(world.engine->CheckSpace(table.get(), none).ok());
  EXPECT_TRUE(world.engine->CheckSystem().ok());
  PageNumber lost;
  {
    PageAllocator* allocator = world.engine->impl()->storage->allocator();
    Result<PageReservation> reservation = allocator->Reserve(table->space(), 1);
    ASSERT_TRUE(reservation.ok());
    MiniTxn mini_txn(world.engine->impl()->storage->pool());
    ASSERT_TRUE(mini_txn.Start(256).ok());
    lost = allocator->Allocate(&mini_txn, &*reservation, kNoPage).value();
    mini_txn.Commit();
  }
  LogCapture log;
  const Status status = world.engine->CheckSpace(table.get(), none);
  EXPECT_EQ(status.code(), Code::kCorrupt);
  EXPECT_EQ(status.detail(), lost.value());
  EXPECT_TRUE(log.Has("Page " + std::to_string(lost.value()) + " of /rowan/space_")) << log.Text();
}

TEST(EngineTest, AForeignFolderIsRefusedAndLeftAlone) {
  EngineFixture world(TestSeed());
  FileOptions create;
  create.create = true;
  { ASSERT_TRUE(world.files.Open("/rowan/holiday.jpg", create).ok()); }
  EXPECT_EQ(world.Open().code(), Code::kInvalidArgument);
  EXPECT_EQ(world.files.List("/rowan").value().size(), 1u);
}

TEST(EngineTest, AMissingControlFileIsRefusedAndNothingIsOverwritten) {
  EngineFixture world(TestSeed());
  ASSERT_TRUE(world.Open().ok());
  world.CreateTable("test/t").reset();
  ASSERT_TRUE(world.Shutdown().ok());
  ASSERT_TRUE(world.files.Remove("/rowan/rowan.control").ok());
  const size_t files_before = world.files.List("/rowan").value().size();
  EXPECT_EQ(world.Open().code(), Code::kCorrupt);
  EXPECT_EQ(world.files.List("/rowan").value().size(), files_before);
}

}  // namespace
}  // namespace rowan::engine_test
