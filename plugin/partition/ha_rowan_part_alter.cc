// SPDX-License-Identifier: GPL-2.0-only
// ALTER TABLE of a partitioned table without a copy of the table. Changes of partitions: those that
// stay keep their engine tables, new ones are created, rows that must move are copied into them,
// and the others are dropped in the server's commit phase, all in the transaction of the server's
// dictionary. Other changes: each partition has its own AlterJob.
#include "plugin/server/abi_guard.h"

#include "plugin/partition/ha_rowan_part.h"

#include <algorithm>

#include "mysqld_error.h"
#include "sql/create_field.h"
#include "sql/dd/types/partition.h"
#include "sql/dd/types/table.h"
#include "sql/derror.h"
#include "sql/field.h"
#include "sql/partition_info.h"
#include "sql/sql_alter.h"
#include "sql/sql_class.h"

#include "plugin/handler/alter_job.h"
#include "plugin/handler/create_checks.h"
#include "plugin/handler/data_directory.h"
#include "plugin/handler/table_description.h"
#include "plugin/server/error_map.h"
#include "plugin/server/instance.h"
#include "plugin/server/thd_context.h"

namespace rowan {
namespace {

using Changes = Alter_inplace_info;

constexpr Changes::HA_ALTER_FLAGS kPartitionChanges =
    Changes::ADD_PARTITION | Changes::DROP_PARTITION | Changes::COALESCE_PARTITION |
    Changes::REORGANIZE_PARTITION | Changes::ALTER_TABLE_REORG | Changes::ALTER_REBUILD_PARTITION |
    Changes::ALTER_ALL_PARTITION;

/// A change of partitions, between the server's calls.
class PartitionsContext : public inplace_alter_handler_ctx {
 public:
  std::vector<std::unique_ptr<TableShare>> created;  ///< by new number; null: the partition stays
  std::vector<TableId> dropped;
  std::shared_ptr<Table> staying;  ///< one of those that stay, or null
};

/// Any other change: the jobs of all partitions.
class AlterOfParts : public inplace_alter_handler_ctx {
 public:
  /// Runs `action(job)` for each partition until one fails: then true.
  template <typename Action>
  bool UntilOneFails(Action action) {
    return std::any_of(jobs.begin(), jobs.end(),
                       [&](const auto& job) { return action(job.get()); });
  }
  std::vector<std::unique_ptr<AlterJob>> jobs;  ///< by number
};

AlterOfParts* OfParts(const Alter_inplace_info& info) {
  return static_cast<AlterOfParts*>(info.handler_ctx);
}

bool ChangesPartitions(const Alter_inplace_info& info) {
  return (info.handler_flags & kPartitionChanges) != 0;
}

/// True if rows must move between partitions.
bool MovesRows(const Alter_inplace_info& info) {
  if ((info.handler_flags & Changes::DROP_PARTITION) != 0) return false;
  if ((info.handler_flags & Changes::ADD_PARTITION) == 0) return true;
  const partition_type type = info.modified_part_info->part_type;
  return type != partition_type::RANGE && type != partition_type::LIST;
}

std::vector<const Field*> ColumnsOf(Field* const* columns) {
  std::vector<const Field*> found;
  for (; columns != nullptr && *columns != nullptr; ++columns) found.push_back(*columns);
  return found;
}

/// The column that `column` becomes; null: it is dropped.
const Field* ColumnAfter(const Field* column, const TABLE& altered,
                         const Alter_inplace_info& info) {
  List_iterator_fast<Create_field> definitions(info.alter_info->create_list);
  for (uint i = 0; const Create_field* definition = definitions++; ++i) {
    if (definition->field == column && i < altered.s->fields) return altered.field[i];
  }
  return nullptr;
}

/// True if values of both go into the same partitions.
bool PlaceAlike(const Field* before, const Field* after) {
  return after != nullptr && before->real_type() == after->real_type() &&
         before->charset() == after->charset() && before->is_unsigned() == after->is_unsigned() &&
         before->is_gcol() == after->is_gcol();
}

/// True if by these columns every row stays in its partition. KEY hashes them one by one, in the
/// table's order; without a list it takes those of the primary key.
bool KeepPartitions(Field* const* before, Field* const* after, bool by_key, const TABLE& altered,
                    const Alter_inplace_info& info) {
  const std::vector<const Field*> columns = ColumnsOf(before);
  std::vector<const Field*> wanted;
  for (const Field* column : columns) {
    const Field* const changed = ColumnAfter(column, altered, info);
    if (!PlaceAlike(column, changed)) return false;
    wanted.push_back(changed);
  }
  return !by_key || wanted == ColumnsOf(after);
}

/// True if the partitions stay, but not the rows in them.
bool PlacesRowsAnew(const partition_info& before, const TABLE& altered,
                    const Alter_inplace_info& info) {
  const partition_info* const after = altered.part_info;
  if (after == nullptr) return true;
  const bool by_key = before.list_of_part_fields && !before.column_list;
  return !KeepPartitions(before.part_field_array, after->part_field_array, by_key, altered, info) ||
         !KeepPartitions(before.subpart_field_array, after->subpart_field_array,
                         before.list_of_subpart_fields, altered, info);
}

bool Goes(partition_state state) {
  return state == PART_TO_BE_DROPPED || state == PART_REORGED_DROPPED;
}

/// For each partition of the new definition, whether it stays as it is.
std::vector<bool> WhatStays(partition_info* info) {
  const uint each = info->is_sub_partitioned() ? info->num_subparts : 1;
  std::vector<bool> stays;
  List_iterator_fast<partition_element> partitions(info->partitions);
  for (const partition_element* part = partitions++; part != nullptr; part = partitions++) {
    if (!Goes(part->part_state)) {
      stays.insert(stays.end(), each, part->part_state == PART_NORMAL);
    }
  }
  return stays;
}

bool SamePartitionName(const dd::String_type& one, const dd::String_type& other) {
  return my_strcasecmp(system_charset_info, one.c_str(), other.c_str()) == 0;
}

bool SamePartition(const dd::Partition& one, const dd::Partition& other) {
  if (!SamePartitionName(one.name(), other.name())) return false;
  return one.parent() == nullptr || SamePartitionName(one.parent()->name(), other.parent()->name());
}

const dd::Partition* FindPartition(const dd::Table& table, const dd::Partition& wanted) {
  for (const dd::Partition* leaf : table.leaf_partitions()) {
    if (SamePartition(*leaf, wanted)) return leaf;
  }
  return nullptr;
}

/// Makes the same engine table stand for it.
void TakeOver(const dd::Partition& before, dd::Partition* after) {
  after->set_se_private_id(before.se_private_id());
  after->set_se_private_data(before.se_private_data());
}

}  // namespace

enum_alter_inplace_result ha_rowan_part::check_if_supported_inplace_alter(
    TABLE* altered_table, Alter_inplace_info* info) {
  if (ChangesPartitions(*info)) {
    const bool alone = (info->handler_flags & ~kPartitionChanges) == 0;
    if (!alone || UnsupportedInPartitions(*info->modified_part_info).refuses()) {
      return HA_ALTER_INPLACE_NOT_SUPPORTED;
    }
    return MovesRows(*info) ? HA_ALTER_INPLACE_SHARED_LOCK_AFTER_PREPARE
                            : HA_ALTER_INPLACE_NO_LOCK_AFTER_PREPARE;
  }
  if (PlacesRowsAnew(*table->part_info, *altered_table, *info)) {
    return HA_ALTER_INPLACE_NOT_SUPPORTED;
  }
  auto* alter = new (ha_thd()->mem_root) AlterOfParts();
  info->handler_ctx = alter;
  enum_alter_inplace_result result = HA_ALTER_INPLACE_INSTANT;
  for (const TablePart& part : parts_) {
    alter->jobs.push_back(std::make_unique<AlterJob>(table, altered_table, info, part.share()));
    result = std::min(result, alter->jobs.back()->Check());
    if (result <= HA_ALTER_INPLACE_NOT_SUPPORTED) break;
  }
  return result;
}

bool ha_rowan_part::prepare_inplace_alter_table(TABLE* altered_table, Alter_inplace_info* info,
                                                const dd::Table* old_def, dd::Table* new_def) {
  if (ChangesPartitions(*info)) return PreparePartitions(altered_table, info, *old_def, new_def);
  return OfParts(*info)->UntilOneFails([](AlterJob* job) { return job->Prepare(); });
}

bool ha_rowan_part::inplace_alter_table(TABLE*, Alter_inplace_info* info, const dd::Table*,
                                        dd::Table*) {
  if (ChangesPartitions(*info)) return MovesRows(*info) && CopyPartitions(info);
  return OfParts(*info)->UntilOneFails([](AlterJob* job) { return job->Build(); });
}

bool ha_rowan_part::commit_inplace_alter_table(TABLE*, Alter_inplace_info* info, bool commit,
                                               const dd::Table* old_def, dd::Table* new_def) {
  if (ChangesPartitions(*info)) {
    new_parts_.clear();
    auto* context = static_cast<PartitionsContext*>(info->handler_ctx);
    if (commit) return CommitPartitions(info);
    // Its new objects disappear with the transaction, which is about to be rolled back.
    if (context != nullptr) context->created.clear();
    return false;
  }
  if (info->handler_ctx == nullptr) return false;
  if (!commit) {
    for (const auto& job : OfParts(*info)->jobs) job->Undo();
    return false;
  }
  std::vector<dd::Object_id> ids;  // of the engine tables, in the order of the definition
  const bool failed = OfParts(*info)->UntilOneFails([&](AlterJob* job) {
    const bool part_failed = job->Finish(*old_def, new_def);
    ids.push_back(new_def->se_private_id());
    return part_failed;
  });
  if (failed) return true;
  new_def->set_se_private_id(old_def->se_private_id());
  auto after = new_def->leaf_partitions()->begin();
  auto id = ids.begin();
  for (const dd::Partition* before : old_def->leaf_partitions()) {
    TakeOver(*before, *after);
    (*after++)->set_se_private_id(*id++);
  }
  return false;
}

// --- changes of partitions ---

bool ha_rowan_part::PreparePartitions(TABLE* altered_table, Alter_inplace_info* info,
                                      const dd::Table& old_def, dd::Table* new_def) {
  auto* context = new (ha_thd()->mem_root) PartitionsContext();
  info->handler_ctx = context;
  TableDef definition;
  const std::string name = CatalogName(table_share->normalized_path.str);
  if (DescribeNewTable(ha_thd(), altered_table, *info->create_info, name, &definition) != 0) {
    return true;
  }
  ThdContext* connection = ContextOf(ha_thd());
  if (FailAlter(*table, EnterCatalogChange(ha_thd(), connection))) return true;
  const std::vector<bool> stays = WhatStays(info->modified_part_info);
  std::vector<dd::Object_id> staying;
  for (dd::Partition* leaf : *new_def->leaf_partitions()) {
    const size_t number = context->created.size();
    context->created.emplace_back();
    const dd::Partition* before = FindPartition(old_def, *leaf);
    if (number < stays.size() && stays[number] && before != nullptr) {
      TakeOver(*before, leaf);
      staying.push_back(before->se_private_id());
      continue;
    }
    if (PlacePartition(ha_thd(), {}, leaf, &definition) != 0) return true;
    Result<std::shared_ptr<Table>> created =
        CreatePartition(connection->session.get(), definition, partitions_->AutoIncrement(), leaf);
    if (!created.ok()) {
      (void)FailCreate(ha_thd(), definition.directory, created.status());
      return FailAlter(*table, created.status());
    }
    Result<std::unique_ptr<TableShare>> share = OpenShare(table, (*created)->id());
    if (!share.ok()) return FailAlter(*table, share.status());
    context->created.back() = std::move(*share);
  }
  uint number = 0;
  for (const dd::Partition* leaf : old_def.leaf_partitions()) {
    const bool kept =
        std::find(staying.begin(), staying.end(), leaf->se_private_id()) != staying.end();
    if (kept && partitions_->part(number)->lost().ok()) {
      context->staying = partitions_->table(number)->shared_from_this();
    }
    if (!kept) context->dropped.emplace_back(leaf->se_private_id());
    ++number;
  }
  return false;
}

bool ha_rowan_part::CopyPartitions(Alter_inplace_info* info) {
  const auto* context = static_cast<PartitionsContext*>(info->handler_ctx);
  new_parts_.clear();
  for (const auto& created : context->created) new_parts_.emplace_back(table, created.get());
  bitmap_set_all(table->read_set);
  partition_info* const before = table->part_info;
  set_part_info_low(info->modified_part_info, true);
  prepare_change_partitions();
  ulonglong rows_without_partition = 0;
  int error = copy_partitions(&rows_without_partition);
  set_part_info_low(before, false);
  for (size_t i = 0; error == 0 && i < new_parts_.size(); ++i) {
    part_ = &new_parts_[i];
    error = ha_rowan::end_bulk_insert();
  }
  part_ = &parts_[selected_];
  if (error != 0) print_error(error, MYF(0));
  return error != 0;
}

int ha_rowan_part::write_row_in_new_part(uint new_part) {
  m_last_part = new_part;
  if (new_parts_[new_part].share() == nullptr) {
    m_err_rec = table->record[0];
    return HA_ERR_ROW_IN_WRONG_PARTITION;
  }
  int error = 0;
  part_ = &new_parts_[new_part];
  if (reader() == nullptr) {
    part_->MakeReader();
    AttachReader();
    error = BeginLoad(kLoadMemoryBytes / new_parts_.size());
  }
  if (error == 0) error = ha_rowan::write_row(table->record[0]);
  part_ = &parts_[selected_];
  return error;
}

bool ha_rowan_part::CommitPartitions(Alter_inplace_info* info) {
  auto* context = static_cast<PartitionsContext*>(info->handler_ctx);
  const std::vector<std::unique_ptr<TableShare>> created = std::move(context->created);
  ThdContext* connection = ContextOf(ha_thd());
  if (FailAlter(*table, EnterCatalogChange(ha_thd(), connection))) return true;
  for (const TableId id : context->dropped) {
    if (FailAlter(*table, g_engine->DropTable(connection->session.get(), id))) return true;
  }
  if (table->found_next_number_field == nullptr || context->staying == nullptr) return false;
  // Values of dropped partitions are not reused.
  return FailAlter(*table, context->staying->KeepAutoIncrement(partitions_->AutoIncrement() - 1));
}

}  // namespace rowan
