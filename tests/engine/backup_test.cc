// SPDX-License-Identifier: GPL-2.0-only
// A copy of an instance that is being written has what was committed when it ended, nothing else.
#include "storage/backup.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>

#include "base/counters.h"
#include "tests/engine/backup_fixture.h"

namespace rowan {
namespace {

TEST_F(BackupTest, HasWhatWasCommittedWhenItEnded) {
  ASSERT_NO_FATAL_FAILURE(Fill());
  Result<std::shared_ptr<Table>> table = world_.engine->OpenTable(table_);
  ASSERT_TRUE(table.ok());
  std::atomic<uint32_t> committed{0};  // transactions, one behind the other
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (uint32_t i = 0; !stop.load(); ++i) {
      UpdateSome(table->get(), i % 10, 1 + i / 10);
      committed.store(i + 1);
    }
  });
  const auto await = [&](uint32_t count) {
    while (committed.load() < count) std::this_thread::yield();
  };
  await(3);
  ASSERT_NO_FATAL_FAILURE(Flush());
  std::unique_ptr<Backup> backup = Begin(kCopy);
  ASSERT_NE(backup, nullptr);
  await(10);
  ASSERT_NO_FATAL_FAILURE(Flush());
  await(15);
  ASSERT_TRUE(backup->CopyPages([] { return false; }).ok());
  await(30);
  const uint32_t before = committed.load();
  ASSERT_TRUE(backup->Finish(kNoLsn).ok());
  const uint32_t after = committed.load() + 1;  // one may have been on its way
  await(after + 5);
  stop.store(true);
  writer.join();
  backup.reset();
  table.value().reset();
  ASSERT_NO_FATAL_FAILURE(OpenCopy(kCopy));
  EXPECT_TRUE(world_.engine->restored());
  EXPECT_TRUE(world_.engine->EndRestore().ok());
  EXPECT_FALSE(world_.engine->restored());
  Result<std::shared_ptr<Table>> copy = world_.engine->OpenTable(table_);
  ASSERT_TRUE(copy.ok());
  const ToyRows rows = world_.ReadAll(copy->get());
  ASSERT_EQ(rows.size(), kRows);
  uint32_t found = 0;  // transactions that the copy has
  for (uint64_t remainder = 0; remainder < 10; ++remainder) {
    found += rows.at(remainder + 1).value;
  }
  EXPECT_GE(found, before);
  EXPECT_LE(found, after);
  for (const auto& [id, row] : rows) {
    const auto remainder = static_cast<uint32_t>((id - 1) % 10);
    EXPECT_EQ(row, RowOf(id, (found + 9 - remainder) / 10)) << id;
  }
  world_.CheckTable(copy->get(), rows);
  copy.value().reset();
  EXPECT_TRUE(world_.Shutdown().ok());
}

TEST_F(BackupTest, EndsWhereItIsToldTo) {
  ASSERT_NO_FATAL_FAILURE(Fill());
  std::unique_ptr<Backup> backup = Begin(kCopy);
  ASSERT_NE(backup, nullptr);
  ASSERT_TRUE(backup->CopyPages([] { return false; }).ok());
  Result<std::shared_ptr<Table>> table = world_.engine->OpenTable(table_);
  ASSERT_TRUE(table.ok());
  ASSERT_NO_FATAL_FAILURE(UpdateSome(table->get(), 0, 1));
  const Lsn end = world_.engine->Figures().log_tail;
  for (uint32_t version = 2; version < 40; ++version) {
    ASSERT_NO_FATAL_FAILURE(UpdateSome(table->get(), 0, version));
  }
  table.value().reset();
  ASSERT_TRUE(backup->Finish(end).ok());
  backup.reset();
  ASSERT_NO_FATAL_FAILURE(OpenCopy(kCopy));
  for (uint64_t id = 1; id <= kRows; id += 10) rows_[id] = RowOf(id, 1);
  world_.ExpectTable(table_, rows_);
  EXPECT_TRUE(world_.Shutdown().ok());
}

TEST_F(BackupTest, OfWhatChangedIsSmall) {
  ASSERT_NO_FATAL_FAILURE(Fill());
  ASSERT_NO_FATAL_FAILURE(Flush());
  std::unique_ptr<Backup> full = Begin(kCopy);
  ASSERT_NE(full, nullptr);
  ASSERT_TRUE(full->Finish(kNoLsn).ok());
  full.reset();
  Result<std::shared_ptr<Table>> table = world_.engine->OpenTable(table_);
  ASSERT_TRUE(table.ok());
  ASSERT_NO_FATAL_FAILURE(UpdateSome(table->get(), 3, 1));
  table.value().reset();
  AwaitPurge(*world_.engine);  // its changes would be in the second one
  ASSERT_NO_FATAL_FAILURE(Flush());
  const auto written_by = [this](const std::string& folder, const std::string& base) {
    const uint64_t before = ReadCounter(Counter::kBackupPagesWritten);
    std::unique_ptr<Backup> backup = Begin(folder, base);
    EXPECT_TRUE(backup != nullptr && backup->Finish(kNoLsn).ok());
    return ReadCounter(Counter::kBackupPagesWritten) - before;
  };
  const uint64_t changed = written_by("/changes", kCopy);
  EXPECT_GT(changed, 0U);
  EXPECT_LT(written_by("/nothing", "/changes"), changed);
  EXPECT_TRUE(world_.Shutdown().ok());
}

TEST_F(BackupTest, WithoutAnyLogIsAnInstance) {
  ASSERT_NO_FATAL_FAILURE(Fill());
  ASSERT_NO_FATAL_FAILURE(Flush());
  std::unique_ptr<Backup> backup = Begin(kCopy);
  ASSERT_NE(backup, nullptr);
  ASSERT_TRUE(backup->Finish(kNoLsn).ok());
  backup.reset();
  ASSERT_NO_FATAL_FAILURE(OpenCopy(kCopy));
  world_.ExpectTable(table_, rows_);
  EXPECT_TRUE(world_.Shutdown().ok());
}

TEST_F(BackupTest, OfAnotherInstanceIsNoBase) {
  ASSERT_NO_FATAL_FAILURE(Fill());
  const LogCapture log;
  EXPECT_FALSE(world_.engine->BeginBackup({.folder = kCopy, .base = "/nowhere"}).ok());
  EXPECT_TRUE(log.Has("holds no backup")) << log.Text();
  ASSERT_TRUE(world_.files.CreateFolder(kCopy).ok());
  ASSERT_TRUE(world_.files.Open(std::string(kCopy) + "/taken", {.create = true}).ok());
  EXPECT_FALSE(world_.engine->BeginBackup({.folder = kCopy, .base = ""}).ok());
  EXPECT_TRUE(log.Has("is not empty")) << log.Text();
  EXPECT_TRUE(world_.Shutdown().ok());
}

TEST_F(BackupTest, FailsWhenAPageIsDamaged) {
  ASSERT_NO_FATAL_FAILURE(Fill());
  ASSERT_NO_FATAL_FAILURE(Flush());
  const std::string path = world_.engine->impl()->storage->files()->PathOf(kFirstTableSpace);
  {
    Result<std::unique_ptr<File>> file = world_.files.Open(path, {});
    ASSERT_TRUE(file.ok());
    const std::byte wrong{0x5a};
    // Behind the header of a page in use: the root's.
    const uint64_t offset = 2 * uint64_t{world_.options.storage.page_size_bytes} + 100;
    ASSERT_TRUE(file.value()->Write(offset, Bytes(&wrong, 1)).ok());
  }
  const LogCapture log;
  std::unique_ptr<Backup> backup = Begin(kCopy);
  ASSERT_NE(backup, nullptr);
  EXPECT_TRUE(backup->CopyPages([] { return false; }).Is(Code::kCorrupt));
  EXPECT_TRUE(log.Has("page 2 of")) << log.Text();
  backup.reset();
}

}  // namespace
}  // namespace rowan
