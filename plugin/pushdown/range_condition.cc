// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/pushdown/range_condition.h"

#include "sql/field.h"
#include "sql/item.h"
#include "sql/item_cmpfunc.h"
#include "sql/item_func.h"
#include "sql/key.h"
#include "sql/range_optimizer/range_optimizer.h"

namespace rowan {
namespace {

bool IsConstant(Item* item) {
  return item->const_for_execution() && !item->has_subquery() && !item->has_stored_program();
}

/// The comparison with the constant puts the column's values in the order that an index has.
bool ComparesInOrder(const Field& field, const Item& constant, const CHARSET_INFO* collation) {
  const Item_result result = constant.result_type();
  switch (field.real_type()) {
    case MYSQL_TYPE_TINY:
    case MYSQL_TYPE_SHORT:
    case MYSQL_TYPE_INT24:
    case MYSQL_TYPE_LONG:
    case MYSQL_TYPE_LONGLONG:
    case MYSQL_TYPE_NEWDECIMAL:
    case MYSQL_TYPE_FLOAT:
    case MYSQL_TYPE_DOUBLE:
      return !constant.is_temporal() &&
             (result == INT_RESULT || result == REAL_RESULT || result == DECIMAL_RESULT);
    case MYSQL_TYPE_NEWDATE:
    case MYSQL_TYPE_DATETIME2:
      // Local time, unlike TIMESTAMP, which has an hour twice a year.
      return constant.is_temporal_with_date();
    case MYSQL_TYPE_VARCHAR:
    case MYSQL_TYPE_STRING:
      return result == STRING_RESULT && !constant.is_temporal() &&
             constant.data_type() != MYSQL_TYPE_JSON && collation == field.charset();
    default: return false;
  }
}

/// The whole-column key part that an item is; -1: none.
int PartOf(Item* item, const KEY& key) {
  item = item->real_item();
  if (item->type() != Item::FIELD_ITEM) return -1;
  const Field* field = down_cast<Item_field*>(item)->field;
  for (uint part = 0; part < key.user_defined_key_parts; ++part) {
    const KEY_PART_INFO& info = key.key_part[part];
    if (info.field == field) return (info.key_part_flag & HA_PART_KEY_SEG) == 0 ? int(part) : -1;
  }
  return -1;
}

/// A comparison of one key part with constants: the part, or -1.
int ComparedPart(Item_func* comparison, const KEY& key) {
  int compared = -1;
  const Field* field = nullptr;
  Item** const arguments = comparison->arguments();
  for (uint i = 0; i < comparison->arg_count; ++i) {
    if (IsConstant(arguments[i])) continue;
    if (compared >= 0) return -1;
    compared = PartOf(arguments[i], key);
    if (compared < 0) return -1;
    field = key.key_part[compared].field;
  }
  if (compared < 0) return -1;
  for (uint i = 0; i < comparison->arg_count; ++i) {
    if (!IsConstant(arguments[i])) continue;
    if (!ComparesInOrder(*field, *arguments[i], comparison->compare_collation())) return -1;
  }
  return compared;
}

/// What is true for is one piece of the order.
bool IsInterval(const Item_func& comparison) {
  switch (comparison.functype()) {
    case Item_func::EQ_FUNC:
    case Item_func::LT_FUNC:
    case Item_func::LE_FUNC:
    case Item_func::GT_FUNC:
    case Item_func::GE_FUNC: return true;
    case Item_func::BETWEEN: return !down_cast<const Item_func_between&>(comparison).negated;
    default: return false;
  }
}

/// Leading parts of the key that have one value in all of the range.
unsigned EqualParts(const KEY& key, const QUICK_RANGE& range) {
  if ((range.flag & (NO_MIN_RANGE | NO_MAX_RANGE)) != 0) return 0;
  uint part = 0;
  uint offset = 0;
  for (; part < key.user_defined_key_parts; ++part) {
    const key_part_map bit = key_part_map{1} << part;
    if ((range.min_keypart_map & bit) == 0 || (range.max_keypart_map & bit) == 0) break;
    const uint bytes = key.key_part[part].store_length;
    if (memcmp(range.min_key + offset, range.max_key + offset, bytes) != 0) break;
    offset += bytes;
  }
  return part;
}

}  // namespace

bool HoldsBetween(Item* condition, const KEY& key, unsigned equal_parts) {
  if (condition == nullptr) return true;
  if (condition->type() == Item::COND_ITEM) {
    auto* parts = down_cast<Item_cond*>(condition);
    if (parts->functype() != Item_func::COND_AND_FUNC) return false;
    List_iterator<Item> it(*parts->argument_list());
    while (Item* part = it++) {
      if (!HoldsBetween(part, key, equal_parts)) return false;
    }
    return true;
  }
  if (condition->type() != Item::FUNC_ITEM) return false;
  auto* comparison = down_cast<Item_func*>(condition);
  const bool is_list = comparison->functype() == Item_func::IN_FUNC;
  if (!is_list && !IsInterval(*comparison)) return false;
  const int part = ComparedPart(comparison, key);
  if (part < 0) return false;
  if (static_cast<unsigned>(part) < equal_parts) return true;
  return static_cast<unsigned>(part) == equal_parts && !is_list;
}

bool HoldsBetween(Item* condition, const KEY& key, QUICK_RANGE* const* ranges, unsigned count) {
  // Ranges of a list are many and alike, and its condition is as long.
  unsigned known = UINT_MAX;
  for (unsigned i = 0; i < count; ++i) {
    const unsigned equal_parts = EqualParts(key, *ranges[i]);
    if (equal_parts == known) continue;
    if (!HoldsBetween(condition, key, equal_parts)) return false;
    known = equal_parts;
  }
  return true;
}

}  // namespace rowan
