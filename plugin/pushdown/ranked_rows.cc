// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

// The server's build defines this for every file that includes rapidjson.
#define RAPIDJSON_NO_SIZETYPEDEFINE 1

#include "plugin/pushdown/ranked_rows.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "sql/field.h"
#include "sql/item.h"
#include "sql/item_sum.h"
#include "sql/parse_tree_nodes.h"
#include "sql/sql_lex.h"
#include "sql/sql_optimizer.h"
#include "sql/table.h"
#include "sql/window.h"

#include "plugin/pushdown/group_reduction.h"

namespace rowan {
namespace {

std::optional<GroupWinners::Count> CountOf(const Item_sum* function) {
  switch (function->sum_func()) {
    case Item_sum::ROW_NUMBER_FUNC: return GroupWinners::Count::kRows;
    case Item_sum::RANK_FUNC: return GroupWinners::Count::kRank;
    case Item_sum::DENSE_RANK_FUNC: return GroupWinners::Count::kDenseRank;
    default: return std::nullopt;
  }
}

struct Block {
  AccessPath* root = nullptr;
  JOIN* join = nullptr;
};

ORDER* FirstOf(const PT_order_list* list) { return list == nullptr ? nullptr : list->value.first; }

/// What the window ranks by; false: not by columns of the table.
bool ReadWindow(const Block& plan, const Window& window, GroupWish* wish) {
  for (ORDER* part = FirstOf(window.effective_partition_by()); part != nullptr; part = part->next) {
    Field* const field = SourceField(plan.root, plan.join, *part->item, wish->table);
    if (field == nullptr) return false;
    AddOnce(&wish->groups, field);
  }
  for (ORDER* part = FirstOf(window.effective_order_by()); part != nullptr; part = part->next) {
    Field* const field = SourceField(plan.root, plan.join, *part->item, wish->table);
    if (field == nullptr) return false;
    wish->order.push_back({field, part->direction == ORDER_DESC});
  }
  return true;
}

bool GroupAlike(const GroupWish& left, const GroupWish& right) {
  return left.groups.size() == right.groups.size() &&
         std::all_of(left.groups.begin(), left.groups.end(),
                     [&](const Field* field) { return Contains(right.groups, field); });
}

/// Columns that both begin with.
size_t CommonLength(const std::vector<OrderColumn>& left, const std::vector<OrderColumn>& right) {
  const auto same_column = [](const OrderColumn& one, const OrderColumn& other) {
    return one.field == other.field && one.descending == other.descending;
  };
  const auto [end, other_end] =
      std::mismatch(left.begin(), left.end(), right.begin(), right.end(), same_column);
  return static_cast<size_t>(end - left.begin());
}

bool HasOnlyRanks(Window* window) {
  List_iterator<Item_sum> functions(window->functions());
  while (const Item_sum* function = functions++) {
    if (!CountOf(function).has_value()) return false;
  }
  return true;
}

/// Groups of all the block's windows, and what their orders begin with; false: those are not alike,
/// or something else is computed.
bool ReadWindows(const Block& plan, GroupWish* wish) {
  List_iterator<Window> windows(plan.join->m_windows);
  bool first = true;
  while (Window* window = windows++) {
    if (!HasOnlyRanks(window)) return false;
    GroupWish read;
    read.table = wish->table;
    if (!ReadWindow(plan, *window, &read)) return false;
    if (first) *wish = read;
    if (!GroupAlike(*wish, read)) return false;
    const size_t common = CommonLength(wish->order, read.order);
    const bool differ = common < std::max(wish->order.size(), read.order.size());
    // Rows that tie in the common part may be in any order by the rest: all are needed.
    wish->takes_ties = wish->takes_ties || differ;
    wish->order.resize(common);
    first = false;
  }
  return !first;
}

bool IsPlainRanking(const Query_block* block, const JOIN* join) {
  return block->leaf_table_count == 1 && !block->is_explicitly_grouped() &&
         !block->is_implicitly_grouped() && !block->is_distinct() && !block->has_limit() &&
         !block->is_recursive() && join->having_cond == nullptr &&
         block->olap == UNSPECIFIED_OLAP_TYPE;
}

bool SelectsRowByRow(Query_block* block) {
  return std::none_of(block->fields.begin(), block->fields.end(),
                      [](const Item* item) { return item->is_non_deterministic(); });
}

/// The only reference to the block's rows; null: there are several, or it is not a derived table.
const Table_ref* OnlyReader(const Query_block* block) {
  const Query_expression* const expression = block->master_query_expression();
  const Table_ref* const reader = expression->derived_table;
  if (reader == nullptr || !expression->is_simple() || expression->is_recursive()) return nullptr;
  const Common_table_expr* const named = reader->common_table_expr();
  if (named != nullptr && (named->recursive || named->references.size() != 1)) return nullptr;
  return reader;
}

/// The least limit that a condition sets to a rank; how it is counted is stored in `wish`.
void TakeLimit(Item* condition, const std::function<const Item_sum*(Item*)>& rank_of,
               GroupWish* wish, bool* limited) {
  for (Item* conjunct : Conjuncts(condition)) {
    const Item_sum* rank = nullptr;
    const std::optional<uint64_t> limit = UpperLimit(conjunct, [&](Item* item) {
      rank = rank_of(item);
      return rank != nullptr;
    });
    if (!limit.has_value() || rank == nullptr) continue;
    const uint64_t most = std::max<uint64_t>(*limit, 1);  // 0: no row passes
    if (*limited && most >= wish->most) continue;
    wish->count = *CountOf(rank);
    wish->most = most;
    *limited = true;
  }
}

const Item_sum* RankOf(Item* item) {
  Item* const real = item->real_item();
  if (real->type() != Item::SUM_FUNC_ITEM) return nullptr;
  const auto* const function = down_cast<Item_sum*>(real);
  return function->m_is_window_function && CountOf(function).has_value() ? function : nullptr;
}

/// The rank that is a column of the reader.
const Item_sum* RankOfColumn(Item* item, const Table_ref* reader, Query_block* block) {
  const Field* const column = FieldOf(item);
  if (column == nullptr || column->table != reader->table) return nullptr;
  const uint hidden = reader->table->hidden_field_count;
  if (column->field_index() < hidden) return nullptr;
  uint position = column->field_index() - hidden;
  for (Item* selected : block->visible_fields()) {
    if (position-- == 0) return RankOf(selected);
  }
  return nullptr;
}

bool FindLimit(Query_block* block, GroupWish* wish) {
  bool limited = false;
  if (block->qualify_cond() != nullptr) TakeLimit(block->qualify_cond(), RankOf, wish, &limited);
  const Table_ref* const reader = OnlyReader(block);
  const Query_block* const outer = block->outer_query_block();
  if (reader == nullptr || reader->table == nullptr || outer == nullptr) return limited;
  Item* const condition = outer->join != nullptr && outer->join->where_cond != nullptr
                              ? outer->join->where_cond
                              : outer->where_cond();
  const auto rank_of = [&](Item* item) { return RankOfColumn(item, reader, block); };
  TakeLimit(condition, rank_of, wish, &limited);
  return limited;
}

}  // namespace

bool ReduceRankedRows(AccessPath* root, JOIN* join) {
  Query_block* const block = join->query_block;
  if (!block->has_windows() || !IsPlainRanking(block, join)) return false;
  GroupWish wish;
  wish.table = block->leaf_tables->table;
  if (!IsReducible(wish.table) || !SelectsRowByRow(block)) return false;
  if (!ReadWindows({root, join}, &wish) || !FindLimit(block, &wish)) return false;
  for (Item* conjunct : Conjuncts(join->where_cond)) {
    if (!HoldsForWholeGroups(conjunct, wish.table, wish.groups)) return false;
  }
  return Reduce(FindAccess(root, join, wish.table), wish);
}

}  // namespace rowan
