// SPDX-License-Identifier: GPL-2.0-only
// Branches: backups whose tablespaces are cloned, not read.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "engine/backup_folder.h"
#include "tests/engine/backup_fixture.h"

namespace rowan {
namespace {

class BackupCloneTest : public BackupTest {
 protected:
  std::unique_ptr<Backup> BeginBranch(const std::string& folder) {
    return Begin({.folder = folder, .clone = CloneInPieces(&world_.files)});
  }
};

TEST_F(BackupCloneTest, NoPageOfABranchIsTorn) {
  ASSERT_NO_FATAL_FAILURE(Fill());
  Result<std::shared_ptr<Table>> table = world_.engine->OpenTable(table_);
  ASSERT_TRUE(table.ok());
  std::atomic<uint32_t> rounds{0};
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (uint32_t i = 0; !stop.load(); ++i) {
      UpdateSome(table->get(), i % 10, 1 + i / 10);
      Flush();
      rounds.store(i + 1);
    }
  });
  for (uint32_t branches = 0; branches < 10; ++branches) {
    const uint32_t before = rounds.load();
    while (rounds.load() == before) std::this_thread::yield();
    const std::string folder = "/branch" + std::to_string(branches);
    const std::unique_ptr<Backup> branch = BeginBranch(folder);
    ASSERT_NE(branch, nullptr);
    ASSERT_TRUE(branch->Finish(kNoLsn).ok());
    EXPECT_TRUE(branch->manifest().IsBranch());
    EXPECT_EQ(WrongWithBackup(&world_.files, folder), "");
  }
  stop.store(true);
  writer.join();
  for (auto& [id, row] : rows_) {
    row = RowOf(id, (rounds.load() + 9 - static_cast<uint32_t>((id - 1) % 10)) / 10);
  }
  table.value().reset();
  std::unique_ptr<Backup> last = BeginBranch(kCopy);
  ASSERT_NE(last, nullptr);
  ASSERT_TRUE(last->Finish(kNoLsn).ok());
  last.reset();
  ASSERT_NO_FATAL_FAILURE(OpenCopy(kCopy));
  world_.ExpectTable(table_, rows_);
  EXPECT_TRUE(world_.Shutdown().ok());
}

TEST_F(BackupCloneTest, WhatCannotBeClonedIsRead) {
  ASSERT_NO_FATAL_FAILURE(Fill());
  const LogCapture log;
  std::unique_ptr<Backup> backup =
      Begin({.folder = kCopy, .clone = [](const std::string&, const std::string&) {
               return Status(Code::kUnsupported, "it is another file system");
             }});
  ASSERT_NE(backup, nullptr);
  ASSERT_TRUE(backup->Finish(kNoLsn).ok());
  EXPECT_FALSE(backup->manifest().IsBranch());
  EXPECT_TRUE(log.Has("it is another file system")) << log.Text();
  EXPECT_EQ(WrongWithBackup(&world_.files, kCopy), "");
  backup.reset();
  ASSERT_NO_FATAL_FAILURE(OpenCopy(kCopy));
  world_.ExpectTable(table_, rows_);
  EXPECT_TRUE(world_.Shutdown().ok());
}

TEST_F(BackupCloneTest, ATableDroppedWhileItIsClonedIsNotThere) {
  ASSERT_NO_FATAL_FAILURE(Fill());
  const CloneFunction clone = CloneInPieces(&world_.files);
  // Before the clone is complete, and after.
  for (const bool fails : {true, false}) {
    const std::string folder = fails ? "/failed" : kCopy;
    const SpaceId space = SpaceId(kFirstTableSpace.value() + (fails ? 1 : 2));
    CreateFilled(fails ? "test/early" : "test/late");
    const std::unique_ptr<Backup> branch = Begin(
        {.folder = folder, .clone = [&](const std::string& source, const std::string& target) {
           const Status status = clone(source, target);
           if (!source.ends_with(SpaceFileName(space))) return status;
           EXPECT_TRUE(world_.engine->impl()->storage->files()->Drop(space).ok());
           return fails ? Status(Code::kIoError, "the file ends early") : status;
         }});
    ASSERT_NE(branch, nullptr);
    branch->CopyPages([] { return false; }).Ignore();  // the catalog still has the table
    EXPECT_FALSE(branch->manifest().spaces.contains(space));
    EXPECT_FALSE(world_.files.Exists(folder + "/" + SpaceFileName(space)).value());
  }
}

TEST_F(BackupCloneTest, APartOfACloneThatStaysFailsTheBranch) {
  ASSERT_NO_FATAL_FAILURE(Fill());
  const CloneFunction clone = CloneInPieces(&world_.files);
  const std::unique_ptr<Backup> branch =
      Begin({.folder = kCopy, .clone = [&](const std::string& source, const std::string& target) {
               const Status status = clone(source, target);
               if (!source.ends_with(SpaceFileName(kFirstTableSpace))) return status;
               EXPECT_TRUE(world_.engine->impl()->storage->files()->Drop(kFirstTableSpace).ok());
               world_.files.Inject({.call = FileCall::kRemove, .path_part = kCopy});
               return status;
             }});
  ASSERT_NE(branch, nullptr);
  EXPECT_STREQ(branch->CopyPages([] { return false; }).message(), "injected fault");
}

TEST_F(BackupCloneTest, ABranchIsNoBase) {
  ASSERT_NO_FATAL_FAILURE(Fill());
  {
    const std::unique_ptr<Backup> branch = BeginBranch(kCopy);
    ASSERT_NE(branch, nullptr);
    ASSERT_TRUE(branch->Finish(kNoLsn).ok());
  }
  const LogCapture log;
  EXPECT_TRUE(world_.engine->BeginBackup({.folder = "/changes", .base = kCopy})
                  .status()
                  .Is(Code::kInvalidArgument));
  EXPECT_TRUE(log.Has("is a branch")) << log.Text();
  ASSERT_NO_FATAL_FAILURE(BackUp("/full"));
  ASSERT_NO_FATAL_FAILURE(BackUp("/changes", "/full"));
  EXPECT_FALSE(ApplyIncrement(kCopy, "/changes", &world_.files).ok());
  EXPECT_TRUE(world_.Shutdown().ok());
}

}  // namespace
}  // namespace rowan
