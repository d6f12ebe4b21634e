// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/program/compile_operand.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "sql/item.h"
#include "sql/item_func.h"

namespace rowan {
namespace {

/// Whether it matters how often, and when, an item is evaluated.
bool HasSideEffects(const Item* item) {
  constexpr std::array<std::string_view, 9> kFunctions = {
      "get_lock",  "release_lock",   "release_all_locks", "is_free_lock", "is_used_lock",
      "benchmark", "last_insert_id", "load_file",         "sleep"};
  return WalkItem(item, enum_walk::PREFIX, [&kFunctions](const Item* part) {
    if (part->type() != Item::FUNC_ITEM) return false;
    const auto* const function = down_cast<const Item_func*>(part);
    return function->functype() == Item_func::SUSERVAR_FUNC ||
           std::find(kFunctions.begin(), kFunctions.end(), function->func_name()) !=
               kFunctions.end();
  });
}

}  // namespace

bool IsConstant(const Item* item) {
  return item->const_for_execution() && !item->has_subquery() && !item->has_stored_program() &&
         !item->is_non_deterministic() && !HasSideEffects(item);
}

std::optional<Operand> CompileOperand(Item* item, const ConstantForm& form, BatchPlan* plan,
                                      const char** reason) {
  Operand operand;
  if (!IsConstant(item)) {
    const std::optional<ValueId> value = plan->AddValue(item, reason);
    if (!value.has_value()) return std::nullopt;
    operand.value = *value;
    operand.type = plan->TypeOf(*value);
    return operand;
  }
  ConstantForm own = form;
  operand.type.nullable = true;
  operand.type.kind = form.kind;
  if (operand.is_decimal()) {
    const uint32_t precision = item->decimal_precision();
    if (precision > kWideDigits) {
      *reason = "constant with many digits";
      return std::nullopt;
    }
    operand.type.scale = item->decimals;
    own.precision = operand.type.precision = static_cast<uint8_t>(precision);
  } else if (operand.is_integer()) {
    operand.type.kind = item->unsigned_flag ? ValueKind::kUnsigned : ValueKind::kSigned;
    own.kind = operand.type.kind;
    operand.type.precision = 20;
  }
  operand.constant = plan->AddConstant(item, own);
  return operand;
}

}  // namespace rowan
