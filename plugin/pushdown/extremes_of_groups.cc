// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/pushdown/extremes_of_groups.h"

#include <optional>

#include "sql/field.h"
#include "sql/item.h"
#include "sql/item_sum.h"
#include "sql/sql_lex.h"
#include "sql/sql_optimizer.h"
#include "sql/table.h"

#include "plugin/pushdown/group_reduction.h"
#include "plugin/pushdown/subquery_block.h"

namespace rowan {
namespace {

/// The extreme that all aggregates of the block are; nullopt: they differ or are something else.
std::optional<Extreme> OnlyExtreme(const JOIN* join, const TABLE* table) {
  std::optional<Extreme> only;
  if (join->sum_funcs == nullptr) return only;
  for (Item_sum** function = join->sum_funcs; *function != nullptr; ++function) {
    const std::optional<Extreme> found = ExtremeOf(*function, table);
    if (!found.has_value()) return std::nullopt;
    const bool other =
        only.has_value() && (found->field != only->field || found->greatest != only->greatest);
    if (other) return std::nullopt;
    only = found;
  }
  return only;
}

std::optional<Fields> GroupsOf(AccessPath* root, JOIN* join, const TABLE* table) {
  Fields groups;
  if (join->query_block->is_explicitly_grouped()) {
    for (ORDER* part = join->group_list.order; part != nullptr; part = part->next) {
      Field* const field = SourceField(root, join, *part->item, table);
      if (field == nullptr) return std::nullopt;
      AddOnce(&groups, field);
    }
    return groups;
  }
  for (Item* conjunct : Conjuncts(join->where_cond)) {
    Field* const field = BoundField(conjunct, table, nullptr);
    if (field != nullptr) AddOnce(&groups, field);
  }
  return groups;
}

/// Apart from aggregates only what is the same for a whole group is selected.
bool SelectsOnlyGroups(const Query_block* block, const TABLE* table, const Fields& groups) {
  for (Item* item : block->fields) {
    if (ExtremeOf(item, table).has_value()) continue;
    if (item->has_aggregation() || !DependsOnlyOn(item, table, groups)) return false;
  }
  return true;
}

bool IsPlainGrouping(const Query_block* block, const JOIN* join) {
  const bool is_grouped = block->is_implicitly_grouped() || block->is_explicitly_grouped();
  return is_grouped && block->leaf_table_count == 1 && !block->has_windows() &&
         block->olap == UNSPECIFIED_OLAP_TYPE && join->having_cond == nullptr;
}

}  // namespace

bool ReduceToExtremesOfGroups(AccessPath* root, JOIN* join) {
  const Query_block* const block = join->query_block;
  if (!IsPlainGrouping(block, join)) return false;
  GroupWish wish;
  wish.table = block->leaf_tables->table;
  if (!IsReducible(wish.table)) return false;
  const std::optional<Extreme> extreme = OnlyExtreme(join, wish.table);
  const std::optional<Fields> groups = GroupsOf(root, join, wish.table);
  if (!extreme.has_value() || !groups.has_value()) return false;
  if (!SelectsOnlyGroups(block, wish.table, *groups)) return false;
  for (Item* conjunct : Conjuncts(join->where_cond)) {
    if (!HoldsForWholeGroups(conjunct, wish.table, *groups)) return false;
  }
  wish.groups = *groups;
  wish.order = {{extreme->field, extreme->greatest}};
  wish.passes_nulls = true;
  return Reduce(FindAccess(root, join, wish.table), wish);
}

}  // namespace rowan
