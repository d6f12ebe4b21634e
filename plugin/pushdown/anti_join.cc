// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/pushdown/anti_join.h"

#include <algorithm>
#include <optional>

#include "sql/field.h"
#include "sql/item.h"
#include "sql/item_cmpfunc.h"
#include "sql/nested_join.h"
#include "sql/sql_lex.h"
#include "sql/sql_optimizer.h"
#include "sql/table.h"

#include "plugin/pushdown/group_reduction.h"
#include "plugin/pushdown/subquery_block.h"

namespace rowan {
namespace {

bool IsNeverNull(const Field* field) { return field->is_flag_set(NOT_NULL_FLAG); }

/// Some conjunct is "column IS NULL" of a column of the table that has no NULLs.
bool WantsNoRow(const JOIN* join, const TABLE* table) {
  const std::vector<Item*> conjuncts = Conjuncts(join->where_cond);
  return std::any_of(conjuncts.begin(), conjuncts.end(), [&](Item* conjunct) {
    if (conjunct->type() != Item::FUNC_ITEM) return false;
    auto* const function = down_cast<Item_func*>(conjunct);
    if (function->functype() != Item_func::ISNULL_FUNC) return false;
    const Field* const field = FieldOf(function->arguments()[0], table);
    return field != nullptr && IsNeverNull(field);
  });
}

Item* ConditionOf(const Table_ref* joined) {
  Item* const optimised = joined->join_cond_optim();
  return optimised != nullptr ? optimised : joined->join_cond();
}

/// On what no row of the table may be found for a row of the others to be left; null: it is not
/// joined so.
Item* AntiJoinCondition(const Table_ref* inner, const JOIN* join) {
  const Table_ref* const nest = inner->embedding;
  if (nest != nullptr && nest->is_aj_nest()) {
    const bool alone = nest->nested_join != nullptr && nest->nested_join->m_tables.size() == 1;
    return alone && !inner->outer_join ? ConditionOf(nest) : nullptr;
  }
  return inner->outer_join && WantsNoRow(join, inner->table) ? ConditionOf(inner) : nullptr;
}

/// How the rows of the inner table are compared with those of the outer one.
struct JoinComparison {
  Fields inner_groups;
  Fields outer_groups;
  std::optional<GreaterColumns> greater;
};

bool AddConjunct(Item* conjunct, const TABLE* inner, const TABLE* outer,
                 JoinComparison* comparison) {
  const std::optional<EqualColumns> equal = EqualColumnsOf(conjunct, inner, outer);
  const std::optional<GreaterColumns> greater = GreaterColumnsOf(conjunct, inner, outer);
  if (!equal.has_value() && (!greater.has_value() || comparison->greater.has_value())) return false;
  const EqualColumns& columns = equal.has_value() ? *equal : *greater;
  if (columns.left->field_index() != columns.right->field_index()) return false;
  if (!IsNeverNull(columns.left)) return false;
  if (greater.has_value()) {
    comparison->greater = greater;
  } else {
    AddOnce(&comparison->inner_groups, columns.left);
    AddOnce(&comparison->outer_groups, columns.right);
  }
  return true;
}

std::optional<JoinComparison> JoinComparisonOf(Item* condition, const TABLE* inner,
                                               const TABLE* outer) {
  JoinComparison comparison;
  for (Item* conjunct : Conjuncts(condition)) {
    if (!AddConjunct(conjunct, inner, outer, &comparison)) return std::nullopt;
  }
  return comparison.greater.has_value() ? std::optional(comparison) : std::nullopt;
}

GroupWish WishFor(TABLE* table, const Fields& groups, Field* column, bool greatest) {
  GroupWish wish;
  wish.table = table;
  wish.groups = groups;
  wish.order = {{column, greatest}};
  return wish;
}

void ReducePair(AccessPath* root, JOIN* join, TABLE* inner, TABLE* outer,
                const JoinComparison& comparison) {
  const bool greatest = comparison.greater->left_is_greater;
  GroupWish left = WishFor(outer, comparison.outer_groups, comparison.greater->right, greatest);
  left.count = GroupWinners::Count::kRank;  // all that tie are left
  Reduce(FindAccess(root, join, outer), left);
  const GroupWish found =
      WishFor(inner, comparison.inner_groups, comparison.greater->left, greatest);
  Reduce(FindAccess(root, join, inner), found);
}

}  // namespace

void ReduceAntiJoins(AccessPath* root, JOIN* join) {
  const Query_block* const block = join->query_block;
  for (Table_ref* inner = block->leaf_tables; inner != nullptr; inner = inner->next_leaf) {
    if (inner->table == nullptr || !IsReducible(inner->table)) continue;
    Item* const condition = AntiJoinCondition(inner, join);
    if (condition == nullptr) continue;
    for (Table_ref* outer = block->leaf_tables; outer != nullptr; outer = outer->next_leaf) {
      const bool same = outer != inner && outer->table != nullptr &&
                        outer->table->s == inner->table->s && IsReducible(outer->table) &&
                        IsPlainlyJoined(outer->table, block);
      if (!same) continue;
      const auto comparison = JoinComparisonOf(condition, inner->table, outer->table);
      if (comparison.has_value()) ReducePair(root, join, inner->table, outer->table, *comparison);
    }
  }
}

}  // namespace rowan
