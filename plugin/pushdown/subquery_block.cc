// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/pushdown/subquery_block.h"

#include "sql/field.h"
#include "sql/item.h"
#include "sql/item_subselect.h"
#include "sql/item_sum.h"
#include "sql/sql_lex.h"
#include "sql/sql_optimizer.h"
#include "sql/table.h"

#include "plugin/pushdown/group_reduction.h"
#include "plugin/pushdown/table_access.h"

namespace rowan {

std::optional<Extreme> ExtremeOf(Item* item, const TABLE* table) {
  Item* const real = item->real_item();
  if (real->type() != Item::SUM_FUNC_ITEM) return std::nullopt;
  auto* const function = down_cast<Item_sum*>(real);
  const bool greatest = function->sum_func() == Item_sum::MAX_FUNC;
  if (!greatest && function->sum_func() != Item_sum::MIN_FUNC) return std::nullopt;
  if (function->m_is_window_function || function->argument_count() != 1) return std::nullopt;
  Field* const field = FieldOf(function->get_arg(0), table);
  if (field == nullptr) return std::nullopt;
  // ENUM and SET: MAX compares names, an index numbers.
  if (field->real_type() == MYSQL_TYPE_ENUM || field->real_type() == MYSQL_TYPE_SET) {
    return std::nullopt;
  }
  return Extreme{field, greatest};
}

bool IsPlainlyJoined(const TABLE* table, const Query_block* block) {
  for (const Table_ref* leaf = block->leaf_tables; leaf != nullptr; leaf = leaf->next_leaf) {
    if (leaf->table != table) continue;
    if (leaf->outer_join) return false;
    for (const Table_ref* nest = leaf->embedding; nest != nullptr; nest = nest->embedding) {
      if (nest->outer_join || nest->is_sj_or_aj_nest()) return false;
    }
    return true;
  }
  return false;
}

namespace {

bool HasOtherLimit(const Query_block* block) {
  if (!block->has_limit()) return false;
  Item* const limit = block->select_limit;
  return block->offset_limit != nullptr || !limit->const_for_execution() || limit->val_int() != 1;
}

}  // namespace

bool SubqueryBlock::wants_one_row() const { return block_->has_limit(); }

std::optional<SubqueryBlock> SubqueryBlock::Of(Item_subselect* subquery, const TABLE* same_as) {
  const Query_expression* const expression = subquery->query_expr();
  if (expression == nullptr || !expression->is_simple()) return std::nullopt;
  Query_block* const block = expression->first_query_block();
  if (block->leaf_table_count != 1 || HasOtherLimit(block) || block->has_windows() ||
      block->olap != UNSPECIFIED_OLAP_TYPE) {
    return std::nullopt;
  }
  TABLE* const table = block->leaf_tables->table;
  if (table == nullptr || table->s != same_as->s) return std::nullopt;
  if (!IsReducible(same_as) || !IsReducible(table)) return std::nullopt;
  return SubqueryBlock(block, table);
}

std::vector<Item*> SubqueryBlock::conditions() const {
  const bool planned = block_->join != nullptr && block_->join->is_optimized();
  std::vector<Item*> conditions;
  for (Item* conjunct : Conjuncts(planned ? block_->join->where_cond : block_->where_cond())) {
    if (!conjunct->created_by_in2exists()) conditions.push_back(conjunct);
  }
  return conditions;
}

Field* SubqueryBlock::ColumnOf(Item* item) const {
  Field* const field = FieldOf(item, table_);
  if (field != nullptr || block_->join == nullptr) return field;
  AccessPath* const root = block_->join->root_access_path();
  return root == nullptr ? nullptr : SourceField(root, block_->join, item, table_);
}

std::optional<Fields> SubqueryBlock::groups() const {
  Fields fields;
  for (const ORDER* group = block_->group_list.first; group != nullptr; group = group->next) {
    Field* const field = ColumnOf(*group->item);
    if (field == nullptr) return std::nullopt;
    AddOnce(&fields, field);
  }
  return fields;
}

}  // namespace rowan
