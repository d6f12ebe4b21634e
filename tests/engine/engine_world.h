// SPDX-License-Identifier: GPL-2.0-only
// EngineWorld: an engine on the fault double with a toy table format, for tests of the whole stack
// below the plugin. Rows are {value, unique, text}; index 1 is on value, index 2 unique on
// `unique`. Thread safety: the engine's own; Open, Crash and Shutdown only with no session alive.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "tests/support/fault_file_system.h"
#include "tests/support/test_settings.h"

namespace rowan {

struct ToyRow {
  uint32_t value = 0;
  uint32_t unique = 0;
  std::string text;
  bool operator==(const ToyRow&) const = default;
};
using ToyRows = std::map<uint64_t, ToyRow>;

std::string ToyKey(uint64_t id);
std::string ToyEncode(const ToyRow& row);
ToyRow ToyDecode(Bytes row);
std::string ToyValueEntry(uint64_t id, const ToyRow& row);
std::string ToyUniqueEntry(uint64_t id, const ToyRow& row);
inline constexpr uint32_t kToyUniqueBytes = 4;

class EngineWorld {
 public:
  explicit EngineWorld(uint64_t seed);
  ~EngineWorld();

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
  static Status Update(Session* session, Table* table, uint64_t id, const ToyRow& before,
                       const ToyRow& after);
  static Status Delete(Session* session, Table* table, uint64_t id, const ToyRow& row);
  /// Locks and reads the newest version; kNotFound.
  static Status ReadForUpdate(Session* session, Table* table, uint64_t id, ToyRow* row);

  /// All rows a fresh snapshot sees, by a clustered scan; failures are test failures.
  ToyRows ReadAll(Table* table);
  /// Structure of all indexes and the space, and that the secondary indexes hold exactly `rows`.
  void CheckTable(Table* table, const ToyRows& rows);
  /// Opens the table: it has exactly `rows`, in all indexes.
  void ExpectTable(TableId id, const ToyRows& rows);

 private:
  void CheckSecondary(Session* session, Table* table, size_t index, const ToyRows& rows);
};

}  // namespace rowan
