// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/pushdown/conditions.h"

#include <algorithm>

#include "sql/field.h"
#include "sql/item.h"
#include "sql/item_cmpfunc.h"
#include "sql/item_func.h"
#include "sql/table.h"

#include "plugin/compat/server_line.h"

namespace rowan {
namespace {

bool IsFunction(const Item* item) { return item->type() == Item::FUNC_ITEM; }

Item_func::Functype KindOf(Item* item) { return down_cast<Item_func*>(item)->functype(); }

/// What no row of the table changes: other tables' columns, constants, outer references.
bool IsFixedFor(Item* item, const TABLE* table) { return DependsOnlyOn(item, table, {}); }

/// Values that are equal for an index are the same value.
bool HasExactEquality(const Field* field) {
  switch (field->result_type()) {
    case INT_RESULT:
    case DECIMAL_RESULT: return true;
    case STRING_RESULT:
      return is_temporal_type(field->type()) || field->charset() == &my_charset_bin;
    default: return false;  // 0 and -0
  }
}

std::optional<uint64_t> WholeNumber(Item* item) {
  if (!item->const_for_execution() || item->result_type() != INT_RESULT) return std::nullopt;
  if (item->has_subquery() || item->has_stored_program()) return std::nullopt;
  const longlong value = item->val_int();
  if (item->null_value || (value < 0 && !item->unsigned_flag)) return 0;
  return static_cast<uint64_t>(value);
}

/// A comparison with the counted item on its left side.
struct LimitComparison {
  Item_func::Functype kind = Item_func::UNKNOWN_FUNC;
  Item* limit = nullptr;
};

Item_func::Functype Mirrored(Item_func::Functype kind) {
  switch (kind) {
    case Item_func::LT_FUNC: return Item_func::GT_FUNC;
    case Item_func::LE_FUNC: return Item_func::GE_FUNC;
    case Item_func::GT_FUNC: return Item_func::LT_FUNC;
    case Item_func::GE_FUNC: return Item_func::LE_FUNC;
    default: return kind;
  }
}

LimitComparison LimitComparisonOf(Item_func* function,
                                  const std::function<bool(Item*)>& is_counted) {
  if (function->argument_count() != 2) return {};
  Item** const arguments = function->arguments();
  if (is_counted(arguments[0])) return {function->functype(), arguments[1]};
  if (is_counted(arguments[1])) return {Mirrored(function->functype()), arguments[0]};
  return {};
}

}  // namespace

bool CompareAlike(const Field* left, const Field* right) {
  // Those are compared by their names, and ordered in an index by their numbers.
  if (left->real_type() == MYSQL_TYPE_ENUM || left->real_type() == MYSQL_TYPE_SET) return false;
  return left->real_type() == right->real_type() && left->is_unsigned() == right->is_unsigned() &&
         left->charset() == right->charset() && left->decimals() == right->decimals();
}

bool SortsAsIndexed(const Field* field) {
  // The 64th member of a SET is a sign for a sort, and the greatest number in an index.
  return field->real_type() != MYSQL_TYPE_SET || field->pack_length() < sizeof(longlong);
}

std::vector<Item*> Conjuncts(Item* condition) {
  std::vector<Item*> parts;
  if (condition == nullptr) return parts;
  const bool is_and = condition->type() == Item::COND_ITEM &&
                      down_cast<Item_cond*>(condition)->functype() == Item_func::COND_AND_FUNC;
  if (!is_and) {
    parts.push_back(condition);
    return parts;
  }
  List_iterator<Item> each(*down_cast<Item_cond*>(condition)->argument_list());
  while (Item* part = each++) {
    for (Item* inner : Conjuncts(part)) parts.push_back(inner);
  }
  return parts;
}

Field* FieldOf(Item* item) {
  Item* const real = item->real_item();
  return real->type() == Item::FIELD_ITEM ? down_cast<Item_field*>(real)->field : nullptr;
}

Field* FieldOf(Item* item, const TABLE* table) {
  Field* const field = FieldOf(item);
  return field != nullptr && field->table == table ? field : nullptr;
}

bool Contains(const Fields& fields, const Field* field) {
  return std::find(fields.begin(), fields.end(), field) != fields.end();
}

void AddOnce(Fields* fields, Field* field) {
  if (!Contains(*fields, field)) fields->push_back(field);
}

bool DependsOnlyOn(Item* item, const TABLE* table, const Fields& fields) {
  if (item->has_subquery() || item->has_stored_program() || item->is_non_deterministic()) {
    return false;
  }
  const bool leaves = WalkItem(item, enum_walk::PREFIX, [&](Item* part) {
    const Field* const field = FieldOf(part, table);
    return field != nullptr && !Contains(fields, field);
  });
  return !leaves;
}

bool HoldsForWholeGroups(Item* conjunct, const TABLE* table, const Fields& groups) {
  if (!DependsOnlyOn(conjunct, table, groups)) return false;
  const bool all_exact = std::all_of(groups.begin(), groups.end(), HasExactEquality);
  if (all_exact || DependsOnlyOn(conjunct, table, {})) return true;
  // Of the others only "=" by the column's own collation is known to see no difference.
  const Field* const field = BoundField(conjunct, table, nullptr);
  if (field == nullptr) return false;
  if (KindOf(conjunct) == kMultipleEquality) return true;
  if (field->result_type() != STRING_RESULT) return false;
  return down_cast<Item_func_eq*>(conjunct)->compare_collation() == field->charset();
}

Field* BoundField(Item* conjunct, const TABLE* table, Item** other) {
  if (!IsFunction(conjunct)) return nullptr;
  const Item_func::Functype kind = KindOf(conjunct);
  if (kind == kMultipleEquality) {
    // Several columns of the table among them are more than one equality.
    auto* const multiple = down_cast<MultipleEquality*>(conjunct);
    Field* own = nullptr;
    Item* fixed = multiple->const_arg();
    for (Item_field& item : multiple->get_fields()) {
      if (item.field->table != table) {
        fixed = &item;
      } else if (own != nullptr) {
        return nullptr;
      } else {
        own = item.field;
      }
    }
    if (other != nullptr) *other = fixed;
    return fixed == nullptr ? nullptr : own;
  }
  if (kind != Item_func::EQ_FUNC) return nullptr;
  Item** const arguments = down_cast<Item_func*>(conjunct)->arguments();
  for (const int side : {0, 1}) {
    Field* const field = FieldOf(arguments[side], table);
    if (field == nullptr || !IsFixedFor(arguments[1 - side], table)) continue;
    if (other != nullptr) *other = arguments[1 - side];
    return field;
  }
  return nullptr;
}

std::optional<EqualColumns> EqualColumnsOf(Item* conjunct, const TABLE* left, const TABLE* right) {
  if (!IsFunction(conjunct)) return std::nullopt;
  EqualColumns columns;
  const auto take = [&](Field* field) {
    if (field->table == left && columns.left == nullptr) {
      columns.left = field;
    } else if (field->table == right && columns.right == nullptr) {
      columns.right = field;
    } else {
      return false;
    }
    return true;
  };
  if (KindOf(conjunct) == kMultipleEquality) {
    auto* const multiple = down_cast<MultipleEquality*>(conjunct);
    if (multiple->const_arg() != nullptr) return std::nullopt;
    for (Item_field& item : multiple->get_fields()) {
      if (!take(item.field)) return std::nullopt;
    }
  } else if (KindOf(conjunct) == Item_func::EQ_FUNC) {
    Item** const arguments = down_cast<Item_func*>(conjunct)->arguments();
    for (const int side : {0, 1}) {
      Field* const field = FieldOf(arguments[side]);
      if (field == nullptr || !take(field)) return std::nullopt;
    }
  }
  if (columns.left == nullptr || columns.right == nullptr) return std::nullopt;
  if (!CompareAlike(columns.left, columns.right)) return std::nullopt;
  return columns;
}

std::optional<GreaterColumns> GreaterColumnsOf(Item* conjunct, const TABLE* left,
                                               const TABLE* right) {
  if (!IsFunction(conjunct)) return std::nullopt;
  const Item_func::Functype kind = KindOf(conjunct);
  if (kind != Item_func::GT_FUNC && kind != Item_func::LT_FUNC) return std::nullopt;
  Item** const arguments = down_cast<Item_func*>(conjunct)->arguments();
  for (const int side : {0, 1}) {
    Field* const one = FieldOf(arguments[side], left);
    Field* const other = FieldOf(arguments[1 - side], right);
    if (one == nullptr || other == nullptr || !CompareAlike(one, other)) continue;
    return GreaterColumns{{one, other}, (kind == Item_func::GT_FUNC) == (side == 0)};
  }
  return std::nullopt;
}

std::optional<uint64_t> UpperLimit(Item* conjunct, const std::function<bool(Item*)>& is_counted) {
  if (!IsFunction(conjunct)) return std::nullopt;
  auto* const function = down_cast<Item_func*>(conjunct);
  if (function->functype() == Item_func::BETWEEN) {
    if (down_cast<Item_func_between*>(function)->negated) return std::nullopt;
    if (!is_counted(function->arguments()[0])) return std::nullopt;
    return WholeNumber(function->arguments()[2]);
  }
  if (function->functype() == kMultipleEquality) {
    auto* const multiple = down_cast<MultipleEquality*>(function);
    if (multiple->const_arg() == nullptr) return std::nullopt;
    for (Item_field& item : multiple->get_fields()) {
      if (is_counted(&item)) return WholeNumber(multiple->const_arg());
    }
    return std::nullopt;
  }
  const LimitComparison comparison = LimitComparisonOf(function, is_counted);
  if (comparison.limit == nullptr) return std::nullopt;
  const std::optional<uint64_t> limit = WholeNumber(comparison.limit);
  if (!limit.has_value()) return std::nullopt;
  switch (comparison.kind) {
    case Item_func::EQ_FUNC:
    case Item_func::LE_FUNC: return limit;
    case Item_func::LT_FUNC: return *limit == 0 ? 0 : *limit - 1;
    default: return std::nullopt;
  }
}

}  // namespace rowan
