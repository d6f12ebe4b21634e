// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/pushdown/table_access.h"

#include "sql/handler.h"
#include "sql/join_optimizer/access_path.h"
#include "sql/join_optimizer/walk_access_paths.h"
#include "sql/sql_lex.h"
#include "sql/sql_optimizer.h"
#include "sql/table.h"
#include "sql/temp_table_param.h"

#include "plugin/handler/ha_rowan.h"
#include "plugin/pushdown/conditions.h"
#include "plugin/server/instance.h"

namespace rowan {
namespace {

constexpr auto kWholeBlock = WalkAccessPathPolicy::ENTIRE_QUERY_BLOCK;

/// The block's rows are to come in an order, or be grouped, which the plan may have left to the
/// scan.
bool WantsOrder(const JOIN* join) {
  const Query_block* const block = join->query_block;
  return block->is_ordered() || block->is_explicitly_grouped() || block->is_distinct() ||
         block->has_windows();
}

bool IsSortedAbove(AccessPath* root, JOIN* join, const AccessPath* leaf) {
  bool sorted = false;
  WalkAccessPaths(root, join, kWholeBlock, [&](AccessPath* path, JOIN*) {
    if (path->type == AccessPath::SORT && IsUnder(path, join, leaf)) sorted = true;
    return sorted;
  });
  return sorted;
}

/// The plan tells the handler whether it wants the order of the index. Of a range not all plans say
/// it: there the shape of the plan counts as well.
bool IsOrderFree(AccessPath* root, JOIN* join, const AccessPath* path) {
  switch (path->type) {
    case AccessPath::TABLE_SCAN: return true;
    case AccessPath::INDEX_SCAN: return !path->index_scan().use_order;
    case AccessPath::REF: return !path->ref().use_order;
    case AccessPath::INDEX_RANGE_SCAN:
      return (path->index_range_scan().mrr_flags & HA_MRR_SORTED) == 0 &&
             (!WantsOrder(join) || IsSortedAbove(root, join, path));
    default: return false;
  }
}

const Temp_table_param* TemporaryOf(const AccessPath* path) {
  switch (path->type) {
    case AccessPath::WINDOW: return path->window().temp_table_param;
    case AccessPath::STREAM: return path->stream().temp_table_param;
    case AccessPath::TEMPTABLE_AGGREGATE: return path->temptable_aggregate().temp_table_param;
    default: return nullptr;
  }
}

/// What is copied to a column of one of the plan's temporary tables; null: it is none.
Item* CopiedTo(AccessPath* root, JOIN* join, const Field* column) {
  Item* source = nullptr;
  WalkAccessPaths(root, join, kWholeBlock, [&](AccessPath* path, JOIN*) {
    const Temp_table_param* const parameters = TemporaryOf(path);
    if (parameters == nullptr || parameters->items_to_copy == nullptr) return false;
    for (const Func_ptr& copy : *parameters->items_to_copy) {
      if (copy.result_field() == column) source = copy.func();
    }
    return source != nullptr;
  });
  return source;
}

ha_rowan* FindReader(const TABLE* table, bool may_have_parts) {
  if (table == nullptr || table->s->tmp_table != NO_TMP_TABLE) return nullptr;
  if (table->part_info != nullptr && !may_have_parts) return nullptr;
  if (table->file->ht != g_hton) return nullptr;
  auto* file = down_cast<ha_rowan*>(table->file);
  // One that delivers only some rows of each group has a plan already, and says so.
  return file->ReadsSnapshot() && file->explain_extra().empty() ? file : nullptr;
}

}  // namespace

bool IsUnder(AccessPath* root, JOIN* join, const AccessPath* wanted) {
  bool found = false;
  WalkAccessPaths(root, join, kWholeBlock, [&](AccessPath* path, JOIN*) {
    found = found || path == wanted;
    return found;
  });
  return found;
}

Field* SourceField(AccessPath* root, JOIN* join, Item* item, const TABLE* table) {
  // One table after each window at most, and some more.
  for (uint step = 0; item != nullptr && step < join->m_windows.elements + 3; ++step) {
    Field* const field = FieldOf(item);
    if (field == nullptr || field->table == table) return field;
    item = CopiedTo(root, join, field);
  }
  return nullptr;
}

ha_rowan* SnapshotReader(const TABLE* table) { return FindReader(table, false); }

ha_rowan* OnlyTableOf(const JOIN& join) {
  const Query_block& block = *join.query_block;
  return block.leaf_table_count == 1 ? SnapshotReader(block.leaf_tables->table) : nullptr;
}

ha_rowan* OnlyTableOrPartsOf(const JOIN& join) {
  const Query_block& block = *join.query_block;
  if (block.leaf_table_count != 1) return nullptr;
  ha_rowan* const file = FindReader(block.leaf_tables->table, true);
  return file != nullptr && file->StartBlock() ? file : nullptr;
}

TableAccess FindAccess(AccessPath* root, JOIN* join, const TABLE* table) {
  TableAccess access;
  int found = 0;
  bool removes_duplicates = false;
  WalkAccessPaths(root, join, kWholeBlock, [&](AccessPath* path, JOIN*) {
    if (GetBasicTable(path) == table) {
      access.path = path;
      ++found;
    }
    removes_duplicates = removes_duplicates ||
                         path->type == AccessPath::NESTED_LOOP_SEMIJOIN_WITH_DUPLICATE_REMOVAL ||
                         path->type == AccessPath::REMOVE_DUPLICATES_ON_INDEX;
    return false;
  });
  if (found != 1) return {};
  access.join = join;
  access.order_is_free = !removes_duplicates && IsOrderFree(root, join, access.path);
  access.is_sortable = !removes_duplicates && access.path->type == AccessPath::INDEX_SCAN;
  if (join->query_block->has_limit()) access.limit = join->query_expression()->select_limit_cnt;
  return access;
}

}  // namespace rowan
