// SPDX-License-Identifier: GPL-2.0-only
// BackupTest: an instance with one table, backups of it, and the copies that they are restored to.
// Thread safety: none.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "storage/backup.h"
#include "tests/engine/await_purge.h"
#include "tests/engine/backup_copies.h"
#include "tests/engine/engine_fixture.h"
#include "tests/support/log_capture.h"

namespace rowan {

inline constexpr uint64_t kRows = 600;
inline const char kCopy[] = "/copy";

inline ToyRow RowOf(uint64_t id, uint32_t version) {
  return {version, static_cast<uint32_t>(id), std::string(200 + version % 700, 'x')};
}

class BackupTest : public testing::Test {
 protected:
  BackupTest() : world_(TestSeed()) {
    world_.options.storage.log.capacity_bytes = uint64_t{4} << 20;
  }

  void Fill() {
    ASSERT_TRUE(world_.Open().ok());
    const std::shared_ptr<Table> table = world_.CreateTable("test/backup");
    ASSERT_NE(table, nullptr);
    table_ = table->id();
    rows_ = world_.Fill(table.get(), kRows, [](uint64_t id) { return RowOf(id, 0); });
  }

  /// One transaction that brings every row with this remainder to the next version.
  void UpdateSome(Table* table, uint64_t remainder, uint32_t version) {
    const std::unique_ptr<Session> session = world_.engine->NewSession();
    session->Begin();
    for (uint64_t id = remainder + 1; id <= kRows; id += 10) {
      ASSERT_TRUE(EngineFixture::Update(session.get(), table, id, RowOf(id, version - 1),
                                        RowOf(id, version))
                      .ok());
    }
    ASSERT_TRUE(session->Commit().ok());
  }

  void Flush() { ASSERT_TRUE(world_.engine->impl()->storage->pool()->FlushAndCheckpoint().ok()); }

  std::unique_ptr<Backup> Begin(const std::string& folder, const std::string& base = "") {
    return Begin({.folder = folder, .base = base});
  }
  std::unique_ptr<Backup> Begin(const BackupOptions& options) {
    Result<std::unique_ptr<Backup>> backup = world_.engine->BeginBackup(options);
    EXPECT_TRUE(backup.ok()) << backup.status().message();
    return backup.ok() ? std::move(backup).value() : nullptr;
  }

  /// Another table, with a few rows.
  std::pair<TableId, ToyRows> CreateFilled(const std::string& name) {
    const std::shared_ptr<Table> table = world_.CreateTable(name);
    ToyRows rows = world_.Fill(table.get(), 50, [](uint64_t id) { return RowOf(id, 0); });
    return {table->id(), std::move(rows)};
  }

  /// A whole backup.
  void BackUp(const std::string& folder, const std::string& base = "") {
    const std::unique_ptr<Backup> backup = Begin(folder, base);
    ASSERT_NE(backup, nullptr);
    const Status status = backup->Finish(kNoLsn);
    ASSERT_TRUE(status.ok()) << status.message();
  }

  /// Brings all rows with the remainder to the version, and the model too.
  void Change(uint64_t remainder, uint32_t version) {
    Result<std::shared_ptr<Table>> table = world_.engine->OpenTable(table_);
    ASSERT_TRUE(table.ok());
    UpdateSome(table->get(), remainder, version);
    for (uint64_t id = remainder + 1; id <= kRows; id += 10) rows_[id] = RowOf(id, version);
  }

  /// The instance and its backup change places.
  void OpenCopy(const std::string& folder) {
    ASSERT_TRUE(world_.Shutdown().ok());
    world_.options.storage.folder = folder;
    ASSERT_TRUE(world_.Open().ok());
  }

  EngineFixture world_;
  TableId table_;
  ToyRows rows_;
};

}  // namespace rowan
