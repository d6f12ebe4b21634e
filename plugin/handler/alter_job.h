// SPDX-License-Identifier: GPL-2.0-only
// AlterJob: one ALTER TABLE without a copy (docs/alter.md), of one engine table. It finds what is
// possible by comparing how the old and the new definition read the stored bytes: rows that read
// the same stay, and so do indexes whose entries do; others are built in place while the table is
// in use. A change that needs neither is INSTANT. Rows that do not read the same, but keep the
// meaning of their values, go into a new table while the former one is in use. The catalog changes
// in the server's commit phase, in the transaction of the dictionary. Thread safety: the thread
// that alters the table.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "my_bitmap.h"
#include "sql/handler.h"

#include "engine/build/index_build.h"
#include "engine/build/table_rebuild.h"
#include "plugin/codec/table_layout.h"
#include "plugin/codec/wanted_columns.h"
#include "plugin/handler/computed_columns.h"
#include "plugin/handler/field_conversion.h"
#include "plugin/handler/table_share.h"

namespace rowan {

/// Raises the error, unless one was raised already; returns whether there was one.
bool FailAlter(const TABLE& table, Status status);

class AlterJob final : public inplace_alter_handler_ctx {
 public:
  /// `share`: of the engine table, which holds the rows of `table`. All outlive the job.
  AlterJob(TABLE* table, TABLE* altered, Alter_inplace_info* info, const TableShare* share)
      : table_(table), altered_(altered), info_(*info), share_(*share) {}

  /// Call first: whether, and under which locks, the change is possible.
  enum_alter_inplace_result Check();
  // True: it failed, and the error was raised.
  bool Prepare();
  bool Build();
  /// `new_def` gets what the dictionary stores about the engine table.
  bool Finish(const dd::Table& old_def, dd::Table* new_def);
  /// New objects disappear with the transaction, which is about to be rolled back.
  void Undo();

 private:
  [[nodiscard]] const TableCodec& codec() const { return share_.codec(); }
  [[nodiscard]] bool Fails(Status status) const { return FailAlter(*table_, status); }
  bool FailsToBuild(Status status);
  enum_alter_inplace_result RefuseInPlace() const;
  bool ChooseRebuild(ColumnMap columns);
  [[nodiscard]] bool KeepsKeys() const;
  void FindStayingIndexes();
  [[nodiscard]] uint32_t IndexThatStays(uint32_t index_number);
  Status ChooseWords(std::string* refusal);
  void ChooseColumns();
  [[nodiscard]] std::function<std::shared_ptr<void>()> RecordMaker() const;
  bool PrepareBuild(Session* session);
  bool PrepareRebuild(Session* session);
  [[nodiscard]] bool builds() const;
  [[nodiscard]] TableDef DefinitionAfter() const;
  bool FinishInPlace(std::shared_ptr<Table>* now);
  [[nodiscard]] bool sets_auto_increment() const {
    return (info_.create_info->used_fields & HA_CREATE_USED_AUTO) != 0;
  }

  TABLE* const table_;
  TABLE* const altered_;
  Alter_inplace_info& info_;
  const TableShare& share_;
  std::unique_ptr<TableCodec> codec_;  ///< for the new definition
  ColumnMap former_columns_;
  std::vector<uint32_t> former_;  ///< by its numbers: the index that stays; 0 = to be built
  bool rebuilds_ = false;         ///< rows go into a new table
  uint64_t changed_by_ = 0;       ///< the transaction that changed the engine's definition; 0: none
  // For building indexes.
  std::vector<my_bitmap_map> column_bits_;
  MY_BITMAP columns_{};                                ///< needed by the build
  WantedColumns wanted_;                               ///< the same
  std::unique_ptr<ComputedColumns> computed_columns_;  ///< null: none is in an index
  std::unique_ptr<IndexBuild> build_;                  ///< null: nothing to build
  // For a rebuild.
  std::unique_ptr<FieldConversion> conversion_;
  std::unique_ptr<TableRebuild> rebuild_;
};

}  // namespace rowan
