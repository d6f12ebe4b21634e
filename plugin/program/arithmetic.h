// SPDX-License-Identifier: GPL-2.0-only
// + - * of integers, decimals and doubles, % of integers -> nodes of a plan. A row whose result the
// server would refuse, or that has more digits than are computed here, is put aside.
#pragma once

#include <memory>

#include "plugin/program/operand.h"

namespace rowan {

enum class Operation : uint8_t { kAdd, kSubtract, kMultiply, kModulo };

struct Arithmetic {
  Operation operation = Operation::kAdd;
  Operand left;
  Operand right;
  bool is_unsigned = false;  ///< the result may not be negative
};

/// Of two integers. REQUIRES: kModulo is by a constant other than 0.
std::unique_ptr<ValueNode> MakeIntegerArithmetic(const Arithmetic& arithmetic);
/// Of decimals and integers. Null: the server might round the result, or it always has too many
/// digits. REQUIRES: not kModulo.
std::unique_ptr<ValueNode> MakeDecimalArithmetic(const Arithmetic& arithmetic);
/// Of doubles and integers. REQUIRES: not kModulo.
std::unique_ptr<ValueNode> MakeRealArithmetic(const Arithmetic& arithmetic);

}  // namespace rowan
