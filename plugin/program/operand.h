// SPDX-License-Identifier: GPL-2.0-only
// Operand: one side of a comparison or an operation on numbers, a value of a plan or a constant.
// Thread safety: values.
#pragma once

#include "plugin/program/batch.h"
#include "plugin/program/decimal_image.h"

namespace rowan {

struct Operand {
  ValueType type;
  ValueId value{};
  const Constant* constant = nullptr;  ///< null: it is `value`

  [[nodiscard]] bool is_constant() const { return constant != nullptr; }
  [[nodiscard]] bool is_decimal() const {
    return type.kind == ValueKind::kDecimal || type.kind == ValueKind::kWideDecimal;
  }
  [[nodiscard]] bool is_integer() const {
    return type.kind == ValueKind::kSigned || type.kind == ValueKind::kUnsigned;
  }
};

/// The vector of an operand, or null for a constant.
inline const ValueVector* ReadOperand(const Operand& operand, Batch* batch, Selection* rows) {
  return operand.is_constant() ? nullptr : &batch->Read(operand.value, rows);
}

/// Calls `use` with a function that gives the number of a row as `Number`. REQUIRES: the kinds of
/// number, not kDouble; values fit `Number`.
template <typename Number, typename Use>
void WithNumbers(const Operand& operand, const ValueVector* values, Use use) {
  if (values == nullptr) {
    const auto number = static_cast<Number>(operand.constant->number());
    return use([number](RowNumber) { return number; });
  }
  switch (operand.type.kind) {
    case ValueKind::kUnsigned: {
      const auto* const numbers = values->As<uint64_t>();
      return use([numbers](RowNumber row) { return static_cast<Number>(numbers[row]); });
    }
    case ValueKind::kWideDecimal: {
      const auto* const numbers = values->As<Wide>();
      return use([numbers](RowNumber row) { return static_cast<Number>(numbers[row]); });
    }
    default: {
      const auto* const numbers = values->As<int64_t>();
      return use([numbers](RowNumber row) { return static_cast<Number>(numbers[row]); });
    }
  }
}

/// The same as double, of integers and kDouble.
template <typename Use>
void WithReals(const Operand& operand, const ValueVector* values, Use use) {
  if (values == nullptr) {
    const double real = operand.constant->real();
    return use([real](RowNumber) { return real; });
  }
  switch (operand.type.kind) {
    case ValueKind::kUnsigned: {
      const auto* const numbers = values->As<uint64_t>();
      return use([numbers](RowNumber row) { return static_cast<double>(numbers[row]); });
    }
    case ValueKind::kSigned: {
      const auto* const numbers = values->As<int64_t>();
      return use([numbers](RowNumber row) { return static_cast<double>(numbers[row]); });
    }
    default: {
      const auto* const numbers = values->As<double>();
      return use([numbers](RowNumber row) { return numbers[row]; });
    }
  }
}

/// Sets the flags of rows for which one of two operands is NULL (null: none of it is).
inline void CombineNulls(const ValueVector* left, const ValueVector* right, const Selection& rows,
                         ValueVector* result) {
  const bool left_has = left != nullptr && left->has_nulls();
  const bool right_has = right != nullptr && right->has_nulls();
  uint8_t* const nulls = result->nulls();
  if (!left_has && !right_has) return;  // the flags of rows not read before are 0
  for (const RowNumber row : rows) {
    nulls[row] = static_cast<uint8_t>((left_has ? left->nulls()[row] : 0) |
                                      (right_has ? right->nulls()[row] : 0));
  }
  result->set_has_nulls(true);
}

}  // namespace rowan
