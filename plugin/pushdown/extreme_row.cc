// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/pushdown/extreme_row.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "sql/field.h"
#include "sql/item.h"
#include "sql/item_cmpfunc.h"
#include "sql/item_row.h"
#include "sql/item_subselect.h"
#include "sql/item_sum.h"
#include "sql/sql_lex.h"
#include "sql/sql_optimizer.h"
#include "sql/table.h"

#include "plugin/pushdown/group_reduction.h"
#include "plugin/pushdown/subquery_block.h"

namespace rowan {
namespace {

/// The column of `table` with the same number as one of another reference to the same table.
Field* SameColumn(const TABLE* table, const Field* field) {
  return table->field[field->field_index()];
}

/// Outer column and the item of the subquery's SELECT list that it is compared with.
struct Compared {
  Field* outer = nullptr;
  Item* inner = nullptr;
};

/// The subquery in "column = (SELECT ...)"; its column must be one of a Rowan table.
std::optional<std::pair<Field*, Item_subselect*>> ScalarComparison(Item* conjunct) {
  if (conjunct->type() != Item::FUNC_ITEM) return std::nullopt;
  auto* const function = down_cast<Item_func*>(conjunct);
  if (function->functype() != Item_func::EQ_FUNC) return std::nullopt;
  for (const int side : {0, 1}) {
    Item* const other = function->arguments()[1 - side]->real_item();
    Field* const field = FieldOf(function->arguments()[side]);
    if (field == nullptr || other->type() != Item::SUBQUERY_ITEM) continue;
    auto* const subquery = down_cast<Item_subselect*>(other);
    if (subquery->subquery_type() != Item_subselect::SCALAR_SUBQUERY) return std::nullopt;
    return std::pair(field, subquery);
  }
  return std::nullopt;
}

Item* LeftColumn(Item_in_subselect* in, uint i) {
  Item* const left = in->left_expr->real_item();
  return left->cols() == 1 ? left : left->element_index(i);
}

/// The left side of an IN whose columns are all of one table, with what the subquery selects.
std::vector<Compared> ListComparison(Item_in_subselect* in, const SubqueryBlock& inner) {
  std::vector<Compared> compared;
  if (in->left_expr->cols() != inner.block()->num_visible_fields()) return compared;
  for (Item* selected : inner.block()->visible_fields()) {
    Field* const field = FieldOf(LeftColumn(in, static_cast<uint>(compared.size())));
    if (field == nullptr) return {};
    if (!compared.empty() && field->table != compared[0].outer->table) return {};
    compared.push_back({field, selected});
  }
  return compared;
}

Item_in_subselect* ListOf(Item* conjunct) {
  Item* item = conjunct->real_item();
  if (item->type() == Item::FUNC_ITEM && dynamic_cast<Item_in_optimizer*>(item) != nullptr) {
    item = down_cast<Item_func*>(item)->arguments()[0]->real_item();
  }
  if (item->type() != Item::SUBQUERY_ITEM) return nullptr;
  auto* const subquery = down_cast<Item_subselect*>(item);
  if (subquery->subquery_type() != Item_subselect::IN_SUBQUERY) return nullptr;
  auto* const in = down_cast<Item_in_subselect*>(subquery);
  // NOT IN, and the other tests of what IN gives, are kept in the item itself.
  const bool is_plain =
      in->value_transform == Item::BOOL_IDENTITY || in->value_transform == Item::BOOL_IS_TRUE;
  return is_plain ? in : nullptr;
}

/// The subquery's columns that its WHERE makes equal to the same ones of the outer table, if the
/// rest of it keeps or drops whole groups.
std::optional<Fields> CorrelatedGroups(const SubqueryBlock& inner, const TABLE* outer) {
  Fields groups;
  std::vector<Item*> others;
  for (Item* conjunct : inner.conditions()) {
    const std::optional<EqualColumns> equal = EqualColumnsOf(conjunct, inner.table(), outer);
    const bool same =
        equal.has_value() && equal->left->field_index() == equal->right->field_index();
    if (same) {
      AddOnce(&groups, equal->left);
    } else {
      others.push_back(conjunct);
    }
  }
  for (Item* conjunct : others) {
    if (!HoldsForWholeGroups(conjunct, inner.table(), groups)) return std::nullopt;
  }
  return groups;
}

Fields Translate(const Fields& fields, const TABLE* table) {
  Fields translated;
  for (const Field* field : fields) AddOnce(&translated, SameColumn(table, field));
  return translated;
}

/// No two rows have the same value in the column.
bool IsUniqueAlone(const Field* field) {
  const TABLE* const table = field->table;
  for (uint i = 0; i < table->s->keys; ++i) {
    const KEY& key = table->key_info[i];
    const bool alone = (key.flags & HA_NOSAME) != 0 && key.user_defined_key_parts == 1 &&
                       key.key_part[0].field == field &&
                       (key.key_part[0].key_part_flag & HA_PART_KEY_SEG) == 0;
    if (alone) return true;
  }
  return false;
}

/// MAX(u.c), or u.c of the first row in the order of the subquery.
bool TakeOrder(const SubqueryBlock& inner, const Field* column, GroupWish* wish) {
  Item* const selected = *inner.block()->visible_fields().begin();
  if (inner.block()->is_implicitly_grouped()) {
    const std::optional<Extreme> extreme = ExtremeOf(selected, inner.table());
    if (!extreme.has_value() || extreme->field->field_index() != column->field_index()) {
      return false;
    }
    wish->order = {{SameColumn(wish->table, extreme->field), extreme->greatest}};
    wish->passes_nulls = true;  // neither MAX nor MIN is NULL where there is a value
    return true;
  }
  const Field* const field = inner.ColumnOf(selected);
  if (field == nullptr || field->field_index() != column->field_index()) return false;
  if (!inner.wants_one_row() || inner.block()->is_explicitly_grouped()) return false;
  bool has_column = IsUniqueAlone(column);
  for (const ORDER* part = inner.block()->order_list.first; part != nullptr; part = part->next) {
    Field* const ordered = inner.ColumnOf(*part->item);
    if (ordered == nullptr) return false;
    has_column = has_column || (wish->order.empty() && ordered == field);
    wish->order.push_back({SameColumn(wish->table, ordered), part->direction == ORDER_DESC});
  }
  // Another row with the same value of the column may be anywhere in the order.
  return has_column && !wish->order.empty();
}

/// t.c = (SELECT MAX(u.c) FROM t u WHERE u.g = t.g)
/// t.c = (SELECT u.c FROM t u WHERE u.g = t.g ORDER BY u.c DESC LIMIT 1)
std::optional<GroupWish> WishOfScalar(Item* conjunct) {
  const auto comparison = ScalarComparison(conjunct);
  if (!comparison.has_value()) return std::nullopt;
  const auto [column, subquery] = *comparison;
  const std::optional<SubqueryBlock> inner = SubqueryBlock::Of(subquery, column->table);
  if (!inner.has_value() || inner->block()->num_visible_fields() != 1) return std::nullopt;
  const std::optional<Fields> groups = CorrelatedGroups(*inner, column->table);
  if (!groups.has_value() || groups->empty()) return std::nullopt;
  GroupWish wish;
  wish.table = column->table;
  wish.groups = Translate(*groups, column->table);
  wish.count = GroupWinners::Count::kRank;  // all that tie
  if (!TakeOrder(*inner, column, &wish)) return std::nullopt;
  return wish;
}

/// What the columns on the left side are compared with.
struct ListMatch {
  std::optional<Extreme> extreme;
  Field* column = nullptr;  ///< outer, compared with the extreme
  Fields groups;            ///< inner, compared with the same columns outside
};

std::optional<ListMatch> MatchList(Item_in_subselect* in, const SubqueryBlock& inner) {
  ListMatch match;
  for (const Compared& pair : ListComparison(in, inner)) {
    const std::optional<Extreme> found = ExtremeOf(pair.inner, inner.table());
    Field* const field = found.has_value() ? found->field : inner.ColumnOf(pair.inner);
    if (field == nullptr || field->field_index() != pair.outer->field_index()) return std::nullopt;
    if (!found.has_value()) {
      AddOnce(&match.groups, field);
      continue;
    }
    if (match.extreme.has_value()) return std::nullopt;
    match.extreme = found;
    match.column = pair.outer;
  }
  return match.extreme.has_value() ? std::optional(match) : std::nullopt;
}

/// The match is with rows of the groups only.
bool MatchesGroups(const ListMatch& match, const Fields& groups) {
  const auto all_in = [](const Fields& some, const Fields& others) {
    return std::all_of(some.begin(), some.end(),
                       [&](const Field* field) { return Contains(others, field); });
  };
  return all_in(match.groups, groups) &&
         (all_in(groups, match.groups) || IsUniqueAlone(match.column));
}

/// (t.g, t.c) IN (SELECT u.g, MAX(u.c) FROM t u GROUP BY u.g)
std::optional<GroupWish> WishOfList(Item* conjunct) {
  Item_in_subselect* const in = ListOf(conjunct);
  if (in == nullptr || in->left_expr == nullptr) return std::nullopt;
  const Field* const outer = FieldOf(LeftColumn(in, 0));
  if (outer == nullptr) return std::nullopt;
  const std::optional<SubqueryBlock> inner = SubqueryBlock::Of(in, outer->table);
  if (!inner.has_value() || !inner->block()->is_explicitly_grouped()) return std::nullopt;
  const std::optional<Fields> groups = inner->groups();
  const std::optional<ListMatch> match = MatchList(in, *inner);
  if (!groups.has_value() || !match.has_value() || !MatchesGroups(*match, *groups)) {
    return std::nullopt;
  }
  for (Item* condition : inner->conditions()) {
    if (!HoldsForWholeGroups(condition, inner->table(), *groups)) return std::nullopt;
  }
  GroupWish wish;
  wish.table = match->column->table;
  wish.groups = Translate(*groups, wish.table);
  wish.order = {{match->column, match->extreme->greatest}};
  wish.count = GroupWinners::Count::kRank;  // all that tie
  wish.passes_nulls = true;
  return wish;
}

}  // namespace

void ReduceToExtremeRows(AccessPath* root, JOIN* join) {
  for (Item* conjunct : Conjuncts(join->where_cond)) {
    if (!conjunct->has_subquery()) continue;
    std::optional<GroupWish> wish = WishOfScalar(conjunct);
    if (!wish.has_value()) wish = WishOfList(conjunct);
    if (!wish.has_value() || !IsPlainlyJoined(wish->table, join->query_block)) continue;
    Reduce(FindAccess(root, join, wish->table), *wish);
  }
}

}  // namespace rowan
