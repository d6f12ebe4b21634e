// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/program/compile_operand.h"

#include <algorithm>

#include "sql/item.h"

namespace rowan {

bool IsConstant(const Item* item) {
  return item->const_for_execution() && !item->has_subquery() && !item->has_stored_program() &&
         !item->is_non_deterministic();
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
