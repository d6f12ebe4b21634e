// SPDX-License-Identifier: GPL-2.0-only
// Incremental backups: what one may be incremental to, and what comes of putting them together.
#include <gtest/gtest.h>

#include "engine/backup_folder.h"
#include "tests/engine/backup_fixture.h"

namespace rowan {
namespace {

class BackupChainTest : public BackupTest {
 protected:
  /// Another instance takes over `folder` as its own.
  void GoOnIn(const std::string& folder) {
    ASSERT_NO_FATAL_FAILURE(OpenCopy(folder));
    if (!world_.engine->restored()) return;
    ASSERT_TRUE(world_.engine->EndRestore().ok());
  }
  void ExpectRefusedAsBase(const std::string& base) {
    const LogCapture log;
    const Result<std::unique_ptr<Backup>> begun =
        world_.engine->BeginBackup({.folder = "/refused", .base = base});
    EXPECT_TRUE(begun.status().Is(Code::kInvalidArgument)) << begun.status().message();
    EXPECT_TRUE(log.Has("is not in the past of this instance")) << log.Text();
  }
  void ExpectRows(const std::string& folder) {
    ASSERT_NO_FATAL_FAILURE(OpenCopy(folder));
    world_.ExpectTable(table_, rows_);
  }
};

TEST_F(BackupChainTest, ABackupOfAnotherHistoryIsNoBase) {
  ASSERT_NO_FATAL_FAILURE(Fill());
  ASSERT_NO_FATAL_FAILURE(Flush());
  ASSERT_NO_FATAL_FAILURE(BackUp("/full"));
  ASSERT_NO_FATAL_FAILURE(CopyFolder(&world_.files, "/full", "/restored"));
  const ToyRows rows_of_full = rows_;
  for (uint32_t version = 1; version < 20; ++version) Change(1, version);
  ASSERT_NO_FATAL_FAILURE(Flush());
  ASSERT_NO_FATAL_FAILURE(BackUp("/lost", "/full"));
  // What the lost instance did after the full backup never was.
  ASSERT_NO_FATAL_FAILURE(GoOnIn("/restored"));
  rows_ = rows_of_full;
  Change(2, 1);
  ASSERT_NO_FATAL_FAILURE(Flush());
  for (uint32_t version = 1; version < 40; ++version) Change(3, version);
  ExpectRefusedAsBase("/lost");
  // The full one is in the past of both.
  ASSERT_NO_FATAL_FAILURE(BackUp("/third", "/full"));
  {
    const LogCapture log;
    ASSERT_NO_FATAL_FAILURE(CopyFolder(&world_.files, "/full", "/wrong"));
    ASSERT_TRUE(ApplyIncrement("/wrong", "/lost", &world_.files).ok());
    EXPECT_TRUE(ApplyIncrement("/wrong", "/third", &world_.files).Is(Code::kInvalidArgument));
    EXPECT_TRUE(log.Has("of different histories")) << log.Text();
  }
  ASSERT_NO_FATAL_FAILURE(RestoreChain(&world_.files, {"/full", "/third"}, "/right"));
  ASSERT_NO_FATAL_FAILURE(ExpectRows("/right"));
  EXPECT_TRUE(world_.Shutdown().ok());
}

TEST_F(BackupChainTest, AFolderThatWasCopiedIsAnotherHistory) {
  ASSERT_NO_FATAL_FAILURE(Fill());
  ASSERT_TRUE(world_.Shutdown().ok());
  ASSERT_NO_FATAL_FAILURE(CopyFolder(&world_.files, "/rowan", "/twin"));
  ASSERT_TRUE(world_.Open().ok());
  ASSERT_NO_FATAL_FAILURE(BackUp("/first"));
  ASSERT_NO_FATAL_FAILURE(GoOnIn("/twin"));
  for (uint32_t version = 1; version < 20; ++version) Change(1, version);
  ExpectRefusedAsBase("/first");
  EXPECT_TRUE(world_.Shutdown().ok());
}

TEST_F(BackupChainTest, ChainsAreWhatTheInstanceWas) {
  ASSERT_NO_FATAL_FAILURE(Fill());
  ASSERT_NO_FATAL_FAILURE(BackUp("/full"));
  Change(1, 1);
  ASSERT_NO_FATAL_FAILURE(Flush());
  ASSERT_NO_FATAL_FAILURE(BackUp("/one", "/full"));
  const ToyRows rows_of_one = rows_;
  ASSERT_TRUE(world_.Shutdown().ok());
  ASSERT_TRUE(world_.Open().ok());
  const auto [later_id, later_rows] = CreateFilled("test/later");
  Change(2, 1);
  ASSERT_NO_FATAL_FAILURE(BackUp("/two", "/one"));
  Change(3, 1);
  ASSERT_NO_FATAL_FAILURE(BackUp("/too", "/full"));
  ASSERT_NO_FATAL_FAILURE(RestoreChain(&world_.files, {"/full", "/one"}, "/a"));
  ASSERT_NO_FATAL_FAILURE(RestoreChain(&world_.files, {"/full", "/one", "/two", "/too"}, "/b"));
  ASSERT_NO_FATAL_FAILURE(RestoreChain(&world_.files, {"/full", "/too"}, "/c"));
  EXPECT_NE(WrongWithBackup(&world_.files, "/two", "/full"), "") << "the one between is missing";
  ASSERT_NO_FATAL_FAILURE(ExpectRows("/b"));
  world_.ExpectTable(later_id, later_rows);
  ASSERT_NO_FATAL_FAILURE(ExpectRows("/c"));
  rows_ = rows_of_one;
  ASSERT_NO_FATAL_FAILURE(ExpectRows("/a"));
  EXPECT_TRUE(world_.Shutdown().ok());
}

TEST_F(BackupChainTest, ApplyingMayBeCutShortAnywhere) {
  ASSERT_NO_FATAL_FAILURE(Fill());
  ASSERT_NO_FATAL_FAILURE(BackUp("/full"));
  Change(1, 1);
  ASSERT_NO_FATAL_FAILURE(Flush());
  ASSERT_NO_FATAL_FAILURE(BackUp("/one", "/full"));
  ASSERT_TRUE(world_.Shutdown().ok());
  const LogCapture log;
  bool whole = false;
  for (uint64_t changes = 0; !whole; changes += 1 + changes / 4) {
    SCOPED_TRACE(changes);
    const std::string folder = "/cut" + std::to_string(changes);
    ASSERT_NO_FATAL_FAILURE(CopyFolder(&world_.files, "/full", folder));
    world_.files.PowerOffAfter(changes);
    whole = ApplyIncrement(folder, "/one", &world_.files).ok();
    world_.files.Crash(changes);
    const Status again = ApplyIncrement(folder, "/one", &world_.files);
    EXPECT_TRUE(again.ok()) << again.message();
    EXPECT_EQ(WrongWithBackup(&world_.files, folder), "");
    world_.options.storage.folder = folder;
    ASSERT_TRUE(world_.Open().ok()) << log.Text();
    world_.ExpectTable(table_, rows_);
    ASSERT_TRUE(world_.Shutdown().ok());
  }
}

TEST_F(BackupChainTest, ABackupOfAnEarlierVersionIsRestoredAndIsNoBase) {
  ASSERT_NO_FATAL_FAILURE(Fill());
  ASSERT_NO_FATAL_FAILURE(BackUp("/full"));
  Result<BackupManifest> manifest = ReadBackupManifest(&world_.files, "/full");
  ASSERT_TRUE(manifest.ok());
  std::string text = "rowan-backup 1\ninstance ";
  for (const uint8_t byte : manifest->instance_id) text += Format("{:02x}", unsigned{byte});
  text += Format("\npage_size {}\nsince 0\nstart {}\nend {}\n", manifest->page_size_bytes,
                 manifest->start.value(), manifest->end.value());
  for (const auto& [space, about] : manifest->spaces) {
    text += Format("space {} {}\n", space.value(), about.pages);
  }
  text += "complete\n";
  {
    const std::string path = std::string("/full/") + kBackupManifestName;
    Result<std::unique_ptr<File>> file = world_.files.Open(path, {});
    ASSERT_TRUE(file.ok() && file.value()->Truncate(0).ok());
    ASSERT_TRUE(file.value()->Write(0, AsBytes(text)).ok());
  }
  EXPECT_EQ(WrongWithBackup(&world_.files, "/full"), "");
  const LogCapture log;
  EXPECT_FALSE(world_.engine->BeginBackup({.folder = "/one", .base = "/full"}).ok());
  EXPECT_TRUE(log.Has("make a full backup")) << log.Text();
  ASSERT_NO_FATAL_FAILURE(ExpectRows("/full"));
  EXPECT_TRUE(world_.Shutdown().ok());
}

}  // namespace
}  // namespace rowan
