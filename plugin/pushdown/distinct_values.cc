// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/pushdown/distinct_values.h"

#include "mysql/strings/m_ctype.h"
#include "sql/item_sum.h"

#include "plugin/pushdown/conditions.h"

namespace rowan {

std::optional<ValueId> ReadRowValue(Item* item, BatchPlan* values) {
  if (item->has_subquery() || item->has_stored_program() || item->is_non_deterministic()) {
    return std::nullopt;
  }
  const char* reason = nullptr;
  const Field* const field = FieldOf(item, values->table());
  return field != nullptr ? values->AddColumn(field, &reason) : values->AddValue(item, &reason);
}

bool HasEqualVariants(const ValueType& type) {
  return type.kind == ValueKind::kDouble ||
         (type.kind == ValueKind::kBytes && type.charset != &my_charset_bin);
}

bool AddDistinctArguments(Item_sum* function, BatchPlan* values, std::vector<ValueId>* ids) {
  const Item_sum::Sumfunctype kind = function->sum_func();
  const bool sums = kind == Item_sum::SUM_DISTINCT_FUNC || kind == Item_sum::AVG_DISTINCT_FUNC;
  if (!sums && kind != Item_sum::COUNT_DISTINCT_FUNC) return false;
  for (uint i = 0; i < function->argument_count(); ++i) {
    Item* const argument = function->get_arg(i);
    if (argument->basic_const_item()) continue;
    const std::optional<ValueId> id = ReadRowValue(argument, values);
    if (!id.has_value()) return false;
    // A text becomes a number with a warning for each row.
    if (sums && values->TypeOf(*id).kind == ValueKind::kBytes) return false;
    ids->push_back(*id);
  }
  return true;
}

bool AddSeenBy(Item_sum* function, BatchPlan* values, std::vector<ValueId>* ids) {
  if (function->has_with_distinct()) return AddDistinctArguments(function, values, ids);
  const Item_sum::Sumfunctype kind = function->sum_func();
  if (kind != Item_sum::MIN_FUNC && kind != Item_sum::MAX_FUNC) return false;
  const std::optional<ValueId> id = ReadRowValue(function->get_arg(0), values);
  if (!id.has_value() || HasEqualVariants(values->TypeOf(*id))) return false;
  ids->push_back(*id);
  return true;
}

}  // namespace rowan
