// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/pushdown/sort_keys.h"

#include "mysql/strings/m_ctype.h"
#include "sql/field.h"
#include "sql/filesort.h"
#include "sql/item.h"
#include "sql/sort_param.h"
#include "sql/sql_class.h"

#include "plugin/program/ascii_rules.h"
#include "plugin/pushdown/conditions.h"

namespace rowan {
namespace {

/// The server's sort takes the whole text into account. With padding it takes only the first
/// max_sort_length bytes of weights.
bool SortsWholeText(const THD* thd, const Item* item, const CHARSET_INFO* collation) {
  return collation->pad_attribute == NO_PAD ||
         collation->coll->strnxfrmlen(collation, item->max_length) <=
             thd->variables.max_sort_length;
}

/// Of an item that is no column: the server sorts its value as the program has it.
bool SortsByNumber(const Item* item, const ValueType& type) {
  if (item->is_temporal()) return false;
  switch (type.kind) {
    case ValueKind::kSigned: return item->result_type() == INT_RESULT && !item->unsigned_flag;
    case ValueKind::kUnsigned: return item->result_type() == INT_RESULT && item->unsigned_flag;
    case ValueKind::kDecimal:
    case ValueKind::kWideDecimal:
      return item->result_type() == DECIMAL_RESULT && type.scale == item->decimals;
    default: return false;
  }
}

std::optional<ValueId> ReadSortValue(THD* thd, Item* item, BatchPlan* values) {
  if (item->has_subquery() || item->has_stored_program() || item->is_non_deterministic()) {
    return std::nullopt;
  }
  const char* reason = nullptr;
  const Field* const field = FieldOf(item);
  if (field == nullptr) {
    const std::optional<ValueId> value = values->AddValue(item, &reason);
    const bool sorts = value.has_value() && SortsByNumber(item, values->TypeOf(*value));
    return sorts ? value : std::nullopt;
  }
  if (field->table != values->table() || !SortsAsIndexed(field)) return std::nullopt;
  const std::optional<ValueId> value = values->AddColumn(field, &reason);
  if (!value.has_value() || values->TypeOf(*value).kind != ValueKind::kBytes) return value;
  const CHARSET_INFO* const collation = values->TypeOf(*value).charset;
  const AsciiRules* const rules = AsciiRules::Of(collation);
  const bool sorts = rules != nullptr && rules->has_order && collation == item->collation.collation;
  return sorts && SortsWholeText(thd, item, collation) ? value : std::nullopt;
}

}  // namespace

std::optional<SortKey> ReadSortKey(THD* thd, Item* item, BatchPlan* values) {
  const std::optional<ValueId> value = ReadSortValue(thd, item, values);
  if (!value.has_value()) return std::nullopt;
  return SortKey{*value, false, FieldOf(item) == nullptr ? nullptr : item->real_item()};
}

std::optional<std::vector<SortKey>> ReadSortKeys(const Filesort& sort, BatchPlan* values,
                                                 ItemSource source) {
  std::vector<SortKey> keys;
  for (uint i = 0; i < sort.sort_order_length(); ++i) {
    Item* const item = source(sort.sortorder[i].item);
    if (item == nullptr) return std::nullopt;
    const std::optional<SortKey> key = ReadSortKey(sort.m_thd, item, values);
    if (!key.has_value()) return std::nullopt;
    keys.push_back(*key);
    keys.back().descending = sort.sortorder[i].reverse;
  }
  return keys;
}

}  // namespace rowan
