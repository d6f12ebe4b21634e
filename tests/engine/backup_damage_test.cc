// SPDX-License-Identifier: GPL-2.0-only
// A backup has everything, or fails and says what it lacks; and what happens to its files later is
// found.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/engine/backup_fixture.h"

namespace rowan {
namespace {

class BackupDamageTest : public BackupTest {
 protected:
  [[nodiscard]] std::string PathOfTable() const {
    return world_.engine->impl()->storage->files()->PathOf(kFirstTableSpace);
  }
  /// All of the table's pages but its header and bitmap become zeros on disk.
  void LosePages() {
    Result<std::unique_ptr<File>> file = world_.files.Open(PathOfTable(), {});
    ASSERT_TRUE(file.ok());
    const uint64_t size = file.value()->Size().value();
    ASSERT_TRUE(file.value()->Truncate(2 * world_.options.storage.page_size_bytes).ok());
    ASSERT_TRUE(file.value()->Truncate(size).ok());
  }
  Status CopyAndFinish(const std::string& base = "") {
    const std::unique_ptr<Backup> backup = Begin(kCopy, base);
    const Status status = backup->CopyPages([] { return false; });
    return status.ok() ? backup->Finish(kNoLsn) : status;
  }
  /// The file cannot be opened from the next start on.
  void MakeUnreadable() {
    ASSERT_TRUE(world_.Shutdown().ok());
    ASSERT_TRUE(world_.Open().ok());
    for (const FileCall call : {FileCall::kOpen, FileCall::kRead}) {
      world_.files.Inject(
          {.call = call, .path_part = "/rowan/space_16.rws", .lasting = true, .error = EACCES});
    }
  }
  /// Flips one bit at a time of `folder`'s files, at `places` of each, and undoes it.
  void ExpectEveryFlipToBeFound(const std::string& folder, uint64_t places) {
    Random random(TestSeed());
    const Result<std::vector<std::string>> names = world_.files.List(folder);
    ASSERT_TRUE(names.ok());
    for (const std::string& name : names.value()) {
      const std::string path = folder + "/" + name;
      Result<std::unique_ptr<File>> file = world_.files.Open(path, {.read_only = true});
      ASSERT_TRUE(file.ok());
      const uint64_t size = file.value()->Size().value();
      for (uint64_t i = 0; i < std::min(places, size); ++i) {
        const uint64_t offset = i < 16 ? i : random.Below(size);
        const auto bit = static_cast<unsigned>(random.Below(8));
        if (offset >= size || !world_.files.FlipBit(path, offset, bit)) continue;
        EXPECT_NE(WrongWithBackup(&world_.files, folder).find(folder), std::string::npos)
            << path << " offset " << offset << " bit " << bit;
        ASSERT_TRUE(world_.files.FlipBit(path, offset, bit));
      }
    }
    EXPECT_EQ(WrongWithBackup(&world_.files, folder), "");
  }
};

TEST_F(BackupDamageTest, ATableThatComesWhileItIsCopiedIsThere) {
  ASSERT_NO_FATAL_FAILURE(Fill());
  std::unique_ptr<Backup> backup = Begin(kCopy);
  ASSERT_NE(backup, nullptr);
  ASSERT_TRUE(backup->CopyPages([] { return false; }).ok());
  const auto [late_id, late_rows] = CreateFilled("test/late");
  ASSERT_TRUE(backup->Finish(kNoLsn).ok());
  backup.reset();
  EXPECT_EQ(WrongWithBackup(&world_.files, kCopy), "");
  ASSERT_NO_FATAL_FAILURE(OpenCopy(kCopy));
  world_.ExpectTable(table_, rows_);
  world_.ExpectTable(late_id, late_rows);
  EXPECT_TRUE(world_.Shutdown().ok());
}

TEST_F(BackupDamageTest, AnEndBehindATableThatCameFails) {
  ASSERT_NO_FATAL_FAILURE(Fill());
  const std::unique_ptr<Backup> backup = Begin(kCopy);
  ASSERT_NE(backup, nullptr);
  ASSERT_TRUE(backup->CopyPages([] { return false; }).ok());
  ASSERT_NE(world_.CreateTable("test/late"), nullptr);
  const LogCapture log;
  EXPECT_TRUE(backup->Finish(world_.engine->Figures().log_tail).Is(Code::kBusy));
  EXPECT_TRUE(log.Has("LOCK INSTANCE FOR BACKUP")) << log.Text();
  EXPECT_FALSE(world_.files.Exists(std::string(kCopy) + "/" + kBackupManifestName).value());
}

TEST_F(BackupDamageTest, ALargeTableThatGoesWhileItIsCopiedDoesNotMatter) {
  ASSERT_NO_FATAL_FAILURE(Fill());
  std::shared_ptr<Table> large = world_.CreateTable("test/large");
  const TableId large_id = large->id();
  const SpaceId space = large->space();
  world_.Fill(large.get(), 3 * kRows, [](uint64_t id) {
    return ToyRow{0, static_cast<uint32_t>(id), std::string(1000, 'l')};
  });
  large.reset();
  std::unique_ptr<Backup> backup = Begin(kCopy);
  ASSERT_NE(backup, nullptr);
  int batches = 0;
  const std::string copy = std::string(kCopy) + "/" + SpaceFileName(space);
  const auto drop_at_once = [&] {
    if (batches > 0 || !world_.files.Exists(copy).value()) return false;
    ++batches;
    std::unique_ptr<Session> session = world_.engine->NewSession();
    session->Begin();
    EXPECT_TRUE(world_.engine->DropTable(session.get(), large_id).ok());
    EXPECT_TRUE(session->Commit().ok());
    session->FinishDdl();
    // As the background does with large files.
    Result<std::unique_ptr<File>> trash = world_.files.Open(
        world_.options.storage.folder + "/" + SpaceFileName(space) + ".trash", {});
    EXPECT_TRUE(!trash.ok() || trash.value()->Truncate(0).ok());
    return false;
  };
  ASSERT_TRUE(backup->CopyPages(drop_at_once).ok());
  EXPECT_EQ(batches, 1);
  ASSERT_TRUE(backup->Finish(kNoLsn).ok());
  backup.reset();
  EXPECT_EQ(WrongWithBackup(&world_.files, kCopy), "");
  ASSERT_NO_FATAL_FAILURE(OpenCopy(kCopy));
  world_.ExpectTable(table_, rows_);
  EXPECT_TRUE(world_.Shutdown().ok());
}

TEST_F(BackupDamageTest, APageThatBecameZerosFailsIt) {
  world_.options.storage.background = false;  // nobody writes it again
  ASSERT_NO_FATAL_FAILURE(Fill());
  ASSERT_NO_FATAL_FAILURE(Flush());
  ASSERT_NO_FATAL_FAILURE(BackUp("/full"));
  ASSERT_NO_FATAL_FAILURE(LosePages());
  for (const char* base : {"", "/full"}) {
    const LogCapture log;
    EXPECT_TRUE(CopyAndFinish(base).Is(Code::kCorrupt));
    EXPECT_TRUE(log.Has("Page 2 of") && log.Has("it has only zeros")) << log.Text();
    const Result<std::vector<std::string>> names = world_.files.List(kCopy);
    for (const std::string& name : names.value()) {
      ASSERT_TRUE(world_.files.Remove(std::string(kCopy) + "/" + name).ok());
    }
  }
}

TEST_F(BackupDamageTest, APageThatBecameZerosAndIsChangedInThePoolFailsIt) {
  world_.options.storage.background = false;
  ASSERT_NO_FATAL_FAILURE(Fill());
  ASSERT_NO_FATAL_FAILURE(Flush());
  Change(1, 1);
  ASSERT_NO_FATAL_FAILURE(LosePages());
  const LogCapture log;
  EXPECT_TRUE(CopyAndFinish().Is(Code::kCorrupt)) << log.Text();
}

TEST_F(BackupDamageTest, ATableWhoseFileCannotBeReadFailsItByName) {
  ASSERT_NO_FATAL_FAILURE(Fill());
  ASSERT_NO_FATAL_FAILURE(MakeUnreadable());
  const LogCapture log;
  EXPECT_TRUE(CopyAndFinish().Is(Code::kIoError)) << log.Text();
  EXPECT_TRUE(log.Has("of table test/backup cannot be read")) << log.Text();
}

TEST_F(BackupDamageTest, ATableWhoseFileIsLostFailsItByName) {
  ASSERT_NO_FATAL_FAILURE(Fill());
  const std::string path = PathOfTable();
  ASSERT_TRUE(world_.Shutdown().ok());
  ASSERT_TRUE(world_.files.Remove(path).ok());
  const LogCapture log;
  ASSERT_TRUE(world_.Open().ok());
  EXPECT_TRUE(CopyAndFinish().Is(Code::kIoError)) << log.Text();
  EXPECT_TRUE(log.Has("of table test/backup cannot be read")) << log.Text();
}

TEST_F(BackupDamageTest, ATableIsLeftOutWhereThatIsAskedFor) {
  ASSERT_NO_FATAL_FAILURE(Fill());
  const auto [other_id, other_rows] = CreateFilled("test/other");
  ASSERT_NO_FATAL_FAILURE(Flush());
  ASSERT_NO_FATAL_FAILURE(BackUp("/full"));
  ASSERT_NO_FATAL_FAILURE(MakeUnreadable());
  {
    const LogCapture log;
    Result<std::unique_ptr<Backup>> begun = world_.engine->BeginBackup(
        {.folder = "/one", .base = "/full", .leave_out_unreadable = true});
    ASSERT_TRUE(begun.ok() && begun.value()->Finish(kNoLsn).ok()) << log.Text();
    EXPECT_TRUE(log.Has("leaves table test/backup out")) << log.Text();
    EXPECT_EQ(begun.value()->manifest().left_out.at(kFirstTableSpace), "test/backup");
  }
  world_.files.ClearFaults();
  ASSERT_NO_FATAL_FAILURE(RestoreChain(&world_.files, {"/full", "/one"}, "/restored"));
  EXPECT_TRUE(world_.files.Exists("/restored/space_16.kept").value()) << "the base's good copy";
  const LogCapture log;
  ASSERT_NO_FATAL_FAILURE(OpenCopy("/restored"));
  world_.ExpectTable(other_id, other_rows);
  EXPECT_FALSE(world_.engine->OpenTable(table_).ok());
  EXPECT_TRUE(world_.Shutdown().ok());
}

TEST_F(BackupDamageTest, EveryByteThatChangesLaterIsFound) {
  ASSERT_NO_FATAL_FAILURE(Fill());
  ASSERT_NO_FATAL_FAILURE(Flush());
  ASSERT_NO_FATAL_FAILURE(BackUp("/full"));
  Change(1, 1);
  ASSERT_NO_FATAL_FAILURE(Flush());
  ASSERT_NO_FATAL_FAILURE(BackUp("/one", "/full"));
  ASSERT_TRUE(world_.Shutdown().ok());
  const LogCapture log;
  const uint64_t places = TestSetting("ROWAN_TEST_LONG", 0) != 0 ? 2000 : 25;
  ASSERT_NO_FATAL_FAILURE(ExpectEveryFlipToBeFound("/full", places));
  ASSERT_NO_FATAL_FAILURE(ExpectEveryFlipToBeFound("/one", places));
}

TEST_F(BackupDamageTest, AFileThatIsMissingOrTooManyIsFound) {
  ASSERT_NO_FATAL_FAILURE(Fill());
  ASSERT_NO_FATAL_FAILURE(BackUp("/full"));
  ASSERT_TRUE(world_.Shutdown().ok());
  const LogCapture log;
  const Result<std::vector<std::string>> names = world_.files.List("/full");
  ASSERT_TRUE(names.ok());
  for (const std::string& name : names.value()) {
    ASSERT_TRUE(world_.files.Rename("/full/" + name, "/full/hidden").ok());
    EXPECT_NE(WrongWithBackup(&world_.files, "/full").find(name), std::string::npos) << name;
    ASSERT_TRUE(world_.files.Rename("/full/hidden", "/full/" + name).ok());
  }
  EXPECT_EQ(WrongWithBackup(&world_.files, "/full"), "");
}

}  // namespace
}  // namespace rowan
