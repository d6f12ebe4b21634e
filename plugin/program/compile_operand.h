// SPDX-License-Identifier: GPL-2.0-only
// Items -> operands of comparisons and operations.
// Thread safety: only the thread that optimises the statement.
#pragma once

#include <optional>

#include "plugin/program/operand.h"

namespace rowan {

/// The same value in all rows of an execution, which may be evaluated now.
bool IsConstant(const Item* item);

/// A value of the plan, or a constant in the form `form`. A constant decimal (if `form` says so)
/// has the item's scale, and a value of `type` with its digits.
std::optional<Operand> CompileOperand(Item* item, const ConstantForm& form, BatchPlan* plan,
                                      const char** reason);

}  // namespace rowan
