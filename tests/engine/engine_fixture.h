// SPDX-License-Identifier: GPL-2.0-only
// EngineFixture: an engine on the fault double with a toy table format, for tests of the whole
// stack below the plugin. Thread safety: the engine's own; Open, Crash and Shutdown only with no
// session alive.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

#include "engine/bulk_load.h"
#include "engine/engine_impl.h"
#include "engine/table_cursor.h"
#include "tests/engine/toy_row.h"
#include "tests/support/fault_file_system.h"
#include "tests/support/test_settings.h"

namespace rowan {

class EngineFixture {
 public:
  explicit EngineFixture(uint64_t seed);
  ~EngineFixture();

  EngineOptions options;
  FaultFileSystem files;
  std::unique_ptr<Engine> engine;

  [[nodiscard]] Status Open();
  /// Clean shutdown.
  [[nodiscard]] Status Shutdown();
  /// The process dies; unsynced bytes survive as `seed` decides.
  void Crash(uint64_t seed);

  /// Creates and commits a toy table.
  std::shared_ptr<Table> CreateTable(const std::string& name);
  static TableDef ToyDefinition(const std::string& name);

  // --- row operations in a session ---
  static Status Insert(Session* session, Table* table, uint64_t id, const ToyRow& row);
  /// Commits rows 1 to `rows`, each as `row_of` makes it; failures are test failures.
  ToyRows Fill(Table* table, uint64_t rows, const std::function<ToyRow(uint64_t id)>& row_of);
  static Status Load(BulkLoad* load, uint64_t id, const ToyRow& row);
  static Status Update(Session* session, Table* table, uint64_t id, const ToyRow& before,
                       const ToyRow& after);
  static Status Delete(Session* session, Table* table, uint64_t id, const ToyRow& row);
  /// Locks and reads the newest version; kNotFound.
  static Status ReadForUpdate(Session* session, Table* table, uint64_t id, ToyRow* row);

  /// All rows a fresh snapshot sees, by a clustered scan; failures are test failures.
  ToyRows ReadAll(Table* table);
  /// The row that the session's cursor found, with its blob.
  static Status Decode(Session* session, Bytes stored, ToyRow* row);
  /// Structure of all indexes and the space, and that the secondary indexes hold exactly `rows`.
  void CheckTable(Table* table, const ToyRows& rows);
  /// Opens the table: it has exactly `rows`, in all indexes.
  void ExpectTable(TableId id, const ToyRows& rows);

 private:
  /// Stores the blob, if the row has one.
  static Status WriteBlob(Session* session, Table* table, const ToyRow& row,
                          std::optional<OffPageValue>* blob);
  /// Stores the blob of `after` instead of `*blob`, in part where it can.
  static Status ChangeBlob(Session* session, Table* table, const ToyRow& before,
                           const ToyRow& after, std::optional<OffPageValue>* blob);
  /// The row consists of `now`, which it did not: what `before` alone consists of goes.
  static Status DropBlobs(Session* session, const OffPageValue& before,
                          const std::optional<OffPageValue>& now);
  /// Where the newest version's blob is.
  static Status FindBlob(Session* session, Table* table, uint64_t id,
                         std::optional<OffPageValue>* blob);
  /// What is stored of the newest version.
  static Status ReadStored(Session* session, Table* table, uint64_t id, std::string* stored);
  void CheckSecondary(Session* session, Table* table, uint32_t index, const ToyRows& rows);
};

}  // namespace rowan
