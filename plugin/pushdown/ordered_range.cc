// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/pushdown/ordered_range.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "sql/filesort.h"
#include "sql/item.h"
#include "sql/join_optimizer/access_path.h"
#include "sql/join_optimizer/materialize_path_parameters.h"
#include "sql/join_optimizer/walk_access_paths.h"
#include "sql/sql_lex.h"
#include "sql/sql_optimizer.h"
#include "sql/table.h"
#include "sql/temp_table_param.h"

#include "plugin/blocks/sorted_rows.h"
#include "plugin/handler/ha_rowan.h"
#include "plugin/pushdown/block_access.h"
#include "plugin/pushdown/conditions.h"
#include "plugin/pushdown/sort_keys.h"

namespace rowan {
namespace {

/// More do not fit into SortedRows' memory: it would read them twice.
constexpr double kRowsMax = 1000;
/// Of more ranges the optimizer does not look at each.
constexpr unsigned kRangesMax = 10;

/// The steps above a range: sort -> [temporary table for DISTINCT ->] [condition ->] range.
struct SortedPlan {
  AccessPath* sort = nullptr;
  AccessPath* distinct = nullptr;  ///< null: none
  AccessPath* rows = nullptr;      ///< the condition or the range
};

const MaterializePathParameters::Operand& OperandOf(const AccessPath& distinct) {
  return distinct.materialize().param->m_operands[0];
}

/// The temporary table does nothing but find duplicates among rows of selected columns.
bool IsPlainDistinct(const AccessPath& path, const JOIN* join) {
  const Query_block& block = *join->query_block;
  const MaterializePathParameters& made = *path.materialize().param;
  if (!block.is_distinct() || made.m_operands.size() != 1 || made.cte != nullptr ||
      made.limit_rows != HA_POS_ERROR || made.reject_multiple_rows ||
      path.materialize().table_path->type != AccessPath::TABLE_SCAN) {
    return false;
  }
  const MaterializePathParameters::Operand& operand = OperandOf(path);
  if (operand.join != join || !operand.copy_items || operand.is_recursive_reference ||
      operand.temp_table_param == nullptr || operand.temp_table_param->items_to_copy == nullptr) {
    return false;
  }
  // Columns that only ORDER BY uses do not make rows distinct.
  const auto& selected = block.fields;
  return std::none_of(selected.begin(), selected.end(),
                      [](const Item* item) { return item->hidden; });
}

bool IsSmallRange(const AccessPath& path) {
  return path.type == AccessPath::INDEX_RANGE_SCAN && path.num_output_rows() <= kRowsMax &&
         path.index_range_scan().num_ranges <= kRangesMax;
}

SortedPlan FindPlan(AccessPath* root, JOIN* join) {
  SortedPlan plan;
  WalkAccessPaths(root, join, WalkAccessPathPolicy::ENTIRE_QUERY_BLOCK,
                  [&](AccessPath* path, JOIN*) {
                    if (path->type == AccessPath::SORT) plan.sort = path;
                    return plan.sort != nullptr;
                  });
  if (plan.sort == nullptr) return plan;
  plan.rows = plan.sort->sort().child;
  if (plan.rows->type == AccessPath::MATERIALIZE && IsPlainDistinct(*plan.rows, join)) {
    plan.distinct = plan.rows;
    plan.rows = OperandOf(*plan.distinct).subquery_path;
  }
  return plan;
}

bool IsPlain(const JOIN& join) {
  const Query_block& block = *join.query_block;
  return block.is_ordered() && !block.is_explicitly_grouped() && !block.is_implicitly_grouped() &&
         !block.has_windows() && join.const_tables == 0 && !join.calc_found_rows &&
         join.having_cond == nullptr && !block.leaf_tables->is_fulltext_searched();
}

/// What the item was copied from to the temporary table.
Item* CopiedFrom(const Func_ptr_array& copies, Item* item) {
  const Field* const column = FieldOf(item);
  for (const Func_ptr& copy : copies) {
    if (copy.result_field() == column) return copy.func();
  }
  return nullptr;
}

/// All selected columns decide what is distinct; those that the sort does not know come last.
bool AddSelected(THD* thd, const Func_ptr_array& copies, BatchPlan* values,
                 std::vector<SortKey>* keys) {
  for (const Func_ptr& copy : copies) {
    const std::optional<SortKey> key = ReadSortKey(thd, copy.func(), values);
    // The server may tell 0 and -0 apart here.
    if (!key.has_value() || values->TypeOf(key->value).kind == ValueKind::kDouble) return false;
    const bool known = std::any_of(keys->begin(), keys->end(),
                                   [&](const SortKey& other) { return other.value == key->value; });
    if (!known) keys->push_back(*key);
  }
  return true;
}

std::optional<SortedRows::Order> ReadOrder(THD* thd, const SortedPlan& plan, BatchPlan* values) {
  const auto& sort = plan.sort->sort();
  const Func_ptr_array* const copies =
      plan.distinct == nullptr ? nullptr
                               : OperandOf(*plan.distinct).temp_table_param->items_to_copy;
  std::optional<std::vector<SortKey>> keys = ReadSortKeys(*sort.filesort, values, [&](Item* item) {
    return copies == nullptr ? item : CopiedFrom(*copies, item);
  });
  if (!keys.has_value() || (copies != nullptr && !AddSelected(thd, *copies, values, &*keys))) {
    return std::nullopt;
  }
  // Of a row aside an item must give what programs would: not so of a day that is not in the month.
  // The temporary table may take incomplete dates as zero, which are then no longer distinct.
  const bool readable = std::all_of(keys->begin(), keys->end(), [&](const SortKey& key) {
    const ValueKind kind = values->TypeOf(key.value).kind;
    return key.item != nullptr && kind != ValueKind::kDate &&
           (copies == nullptr || kind != ValueKind::kDatetime);
  });
  if (!readable) return std::nullopt;
  return SortedRows::Order{std::move(*keys), sort.limit, copies != nullptr};
}

/// Rows come from the range one by one, and in order.
void TakeOutSort(const SortedPlan& plan, JOIN* join) {
  AccessPath* const path = plan.sort;
  for (const Explain_sort_clause clause : {ESC_ORDER_BY, ESC_DISTINCT}) {
    join->explain_flags.reset(clause, ESP_USING_FILESORT);
  }
  if (plan.distinct == nullptr) {
    *path = *plan.rows;
    return;
  }
  const MaterializePathParameters& made = *plan.distinct->materialize().param;
  path->type = AccessPath::STREAM;
  path->count_examined_rows = false;
  path->stream() = {.child = plan.rows,
                    .join = join,
                    .temp_table_param = made.m_operands[0].temp_table_param,
                    .table = made.table,
                    .provide_rowid = false,
                    .ref_slice = made.ref_slice};
}

}  // namespace

bool PushOrderedRange(THD* thd, ha_rowan* file, AccessPath* root, JOIN* join) {
  if (!IsPlain(*join)) return false;
  const SortedPlan plan = FindPlan(root, join);
  if (plan.sort == nullptr || plan.sort->sort().filesort == nullptr ||
      plan.sort->sort().remove_duplicates || plan.sort->sort().limit == 0) {
    return false;
  }
  const bool filters = plan.rows->type == AccessPath::FILTER;
  if (!IsSmallRange(filters ? *plan.rows->filter().child : *plan.rows)) return false;
  BlockAccess access;
  if (ReadBlockAccess(thd, file, plan.rows, &access) != Counter::kCount) return false;
  if (!HasAllColumns(*file, access)) return false;
  const std::optional<SortedRows::Order> order = ReadOrder(thd, plan, access.plan.values.get());
  if (!order.has_value()) return false;
  access.plan.helpers = 0;  // few rows
  ReadInBatches(access, file, std::make_unique<SortedRows>(std::move(access.plan), *order));
  TakeOutSort(plan, join);
  return true;
}

}  // namespace rowan
