// SPDX-License-Identifier: GPL-2.0-only
// The ledger of bytes written over the life of an instance: whatever is given to a file has a
// cause, and only one.
#include "tests/support/write_ledger.h"

#include "engine/backup_folder.h"
#include "engine/export_file.h"
#include "engine/sort/entry_sorter.h"
#include "tests/engine/backup_fixture.h"

namespace rowan {
namespace {

/// What each life of an instance as below has, whatever its threads do.
constexpr WriteCause kAlways[] = {
    WriteCause::kRedo,          WriteCause::kRedoPadding,  WriteCause::kRedoFiles,
    WriteCause::kDoublewrite,   WriteCause::kDataShutdown, WriteCause::kUndoShutdown,
    WriteCause::kCatalog,       WriteCause::kSort,         WriteCause::kTemporaryPages,
    WriteCause::kPageLsns,      WriteCause::kControl,      WriteCause::kBackup,
    WriteCause::kExport,        WriteCause::kProbe,        WriteCause::kDataCheckpoint,
    WriteCause::kUndoCheckpoint};

class WriteLedgerTest : public BackupTest {
 protected:
  WriteLedgerTest() { world_.options.storage.log.sync_method = LogSyncMethod::kAuto; }

  void FillTemporary() {
    const std::unique_ptr<Session> session = world_.engine->NewSession();
    Result<std::shared_ptr<Table>> table =
        world_.engine->CreateTemporaryTable(EngineFixture::ToyDefinition("tmp"), 1);
    ASSERT_TRUE(table.ok());
    session->Begin(IsolationLevel::kRepeatableRead);
    session->StartStatement();
    Result<Session*> part = session->Temporary();
    ASSERT_TRUE(part.ok());
    const std::string text(world_.options.storage.page_size_bytes / 2, 't');
    const uint64_t rows = 4 * world_.options.storage.buffer.pool_bytes / text.size();
    for (uint64_t id = 1; id <= rows; ++id) {
      ToyRow row{1, static_cast<uint32_t>(id), "short"};
      row.blob = text;
      ASSERT_TRUE(EngineFixture::Insert(*part, table->get(), id, row).ok());
    }
    ASSERT_TRUE(session->Commit().ok());
  }
  void Sort() {
    EntrySorter sorter(&world_.files, world_.options.storage.folder, "1", 1);
    for (uint64_t i = 0; i < 3000; ++i) {
      const std::string key = ToyKey(i);
      ASSERT_TRUE(sorter.Add({0, AsBytes(key), {}, 0}).ok());
    }
    ASSERT_TRUE(sorter.StartReading().ok());
  }
  void Export() {
    std::unique_ptr<ExportWriter> writer =
        ExportWriter::Create(&world_.files, "/rowan/t.rwx", {"columns", "layout"}).value();
    ASSERT_TRUE(writer->Add({.key = AsBytes("key"), .row = AsBytes("row")}).ok());
    ASSERT_TRUE(writer->Finish(1).ok());
  }
};

TEST_F(WriteLedgerTest, EachByteGivenToAFileHasOneCause) {
  const WriteLedger ledger(&world_.files);
  ASSERT_NO_FATAL_FAILURE(Fill());
  ASSERT_NO_FATAL_FAILURE(Flush());
  ASSERT_NO_FATAL_FAILURE(BackUp("/full"));
  ASSERT_NO_FATAL_FAILURE(FillTemporary());
  ASSERT_NO_FATAL_FAILURE(Sort());
  ASSERT_NO_FATAL_FAILURE(Export());
  Change(1, 1);
  ASSERT_NO_FATAL_FAILURE(BackUp("/increment", "/full"));
  world_.Crash(TestSeed());
  ledger.ExpectWhole();
  ASSERT_TRUE(world_.Open().ok());
  Change(2, 1);
  ASSERT_TRUE(world_.Shutdown().ok());
  ASSERT_TRUE(ApplyIncrement("/full", "/increment", &world_.files).ok());
  ledger.ExpectWhole();
  for (const WriteCause cause : kAlways) {
    EXPECT_GT(ledger.Of(cause), 0u) << CounterDescription(CounterOf(cause)).name;
  }
}

}  // namespace
}  // namespace rowan
