// SPDX-License-Identifier: GPL-2.0-only
// The statements whose every allocation and every call of the file system is made to fail, one at
// a time. Each runs in a session and a transaction of its own.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/build/index_build.h"
#include "engine/bulk_load.h"
#include "engine/table_cursor.h"
#include "tests/engine/engine_fixture.h"
#include "tests/engine/toy_index_codec.h"

namespace rowan::faults {

inline constexpr uint64_t kSweptRows = 120;
/// Its row has an off-page value.
inline constexpr uint64_t kRowWithBlob = 7;

/// A row without its off-page value, as it is stored.
struct PlainRow {
  PlainRow(uint64_t id, const ToyRow& row);
  std::string key;
  std::string row;
  std::unique_ptr<ToyEntries> entries;
};

/// An instance with one table, and a session in it.
class Scene {
 public:
  explicit Scene(uint64_t seed);

  void Begin();
  /// The session rolls back what is open and goes.
  Status End();
  /// The table and the model agree, in all indexes.
  void Check();
  [[nodiscard]] bool Stopped() const;
  /// The next start after a stop; a commit that was under way may be done or not.
  void Restart();
  /// Until what could not be undone is undone.
  void AwaitRollbacks();

  EngineFixture world;
  TableId table_id{0};
  std::shared_ptr<Table> table;
  ToyRows rows;  ///< committed
  std::unique_ptr<Session> session;
  std::unique_ptr<Session> other;  ///< of statements that meet another transaction

  // Of the statement under way, made before it.
  ToyRows after;  ///< what is committed when it succeeds
  std::string key;
  std::string row;
  std::string other_row;
  std::string blob;
  std::unique_ptr<ToyEntries> entries;
  std::unique_ptr<ToyEntries> other_entries;
  std::vector<EntryChange> changes;
  TableDef definition;
  std::unique_ptr<BulkLoad> load;
  std::shared_ptr<Table> made;
  TableId made_id{0};
  std::vector<PlainRow> many;
  ToyIndexCodec codec;
  StoredRow record;
  std::unique_ptr<TableCursor> cursor;
  std::unique_ptr<IndexBuild> build;
  std::vector<IndexBuild::NewIndex> new_indexes;
  UndoPosition savepoint;
};

struct SweptStatement {
  const char* name;
  /// Before the faults; nothing of it fails.
  std::function<void(Scene*)> prepare;
  std::function<Status(Scene*)> run;
  bool commits = false;  ///< after success `after` is committed
  /// After success, without faults: for the next time.
  std::function<void(Scene*)> clean_up = nullptr;
};

const std::vector<SweptStatement>& SweptStatements();
/// For the name of a test.
std::string StatementName(const testing::TestParamInfo<size_t>& statement);

}  // namespace rowan::faults
