// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/program/arithmetic.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <type_traits>

namespace rowan {
namespace {

struct Add {
  template <typename Number>
  static bool Overflows(Number left, Number right, Number* result) {
    return __builtin_add_overflow(left, right, result);
  }
  static double Real(double left, double right) { return left + right; }
};
struct Subtract {
  template <typename Number>
  static bool Overflows(Number left, Number right, Number* result) {
    return __builtin_sub_overflow(left, right, result);
  }
  static double Real(double left, double right) { return left - right; }
};
struct Multiply {
  static bool Overflows(int64_t left, int64_t right, int64_t* result) {
    return __builtin_mul_overflow(left, right, result);
  }
  static bool Overflows(Wide left, Wide right, Wide* result) {
    // Numbers of 64 bits need no check, which is expensive.
    const auto short_left = static_cast<int64_t>(left);
    const auto short_right = static_cast<int64_t>(right);
    if (short_left == left && short_right == right) [[likely]] {
      *result = Wide{short_left} * short_right;
      return false;
    }
    return __builtin_mul_overflow(left, right, result);
  }
  static double Real(double left, double right) { return left * right; }
};

/// The result has the sign of the dividend. Never by 0.
struct Modulo {
  template <typename Number>
  static bool Overflows(Number left, Number right, Number* result) {
    *result = right == -1 ? 0 : left % right;
    return false;
  }
};

/// REQUIRES: not kModulo.
template <typename Use>
void WithOperation(Operation operation, Use use) {
  switch (operation) {
    case Operation::kAdd: return use(Add());
    case Operation::kSubtract: return use(Subtract());
    case Operation::kMultiply: return use(Multiply());
    case Operation::kModulo: return;
  }
}

/// What all three have in common: reads the operands, combines their NULLs, and puts rows aside
/// for which `compute(row)`, which stores the result, returns true.
class ArithmeticNode : public ValueNode {
 public:
  ArithmeticNode(const ValueType& type, const Arithmetic& arithmetic)
      : ValueNode(type), arithmetic_(arithmetic) {}

 protected:
  /// Both are read even where one is NULL: the server evaluates both, and their errors count.
  struct Sides {
    const ValueVector* left = nullptr;
    const ValueVector* right = nullptr;
  };
  Sides ReadSides(Batch* batch, Selection* rows, ValueVector* values) const {
    Sides sides;
    sides.left = ReadOperand(arithmetic_.left, batch, rows);
    sides.right = ReadOperand(arithmetic_.right, batch, rows);
    CombineNulls(sides.left, sides.right, *rows, values);
    if (HasNullConstant()) FillWithNulls(*rows, values);
    return sides;
  }
  template <typename Compute>
  static void ForRows(Batch* batch, Selection* rows, const ValueVector& values, Compute compute) {
    bool any = false;
    for (const RowNumber row : *rows) any |= compute(row);
    if (!any) [[likely]]
      return;
    const uint8_t* const nulls = values.nulls();
    const bool has_nulls = values.has_nulls();
    rows->Retain([&](RowNumber row) {
      if (!compute(row) || (has_nulls && nulls[row] != 0)) return true;
      batch->PutAside(row);
      return false;
    });
  }

  const Arithmetic arithmetic_;

 private:
  [[nodiscard]] bool HasNullConstant() const {
    const auto is_null = [](const Operand& operand) {
      return operand.is_constant() && operand.constant->is_null();
    };
    return is_null(arithmetic_.left) || is_null(arithmetic_.right);
  }
  static void FillWithNulls(const Selection& rows, ValueVector* values) {
    for (const RowNumber row : rows) values->nulls()[row] = 1;
    values->set_has_nulls(true);
  }
};

ValueType ResultType(const Arithmetic& arithmetic, ValueKind kind) {
  const auto may_be_null = [](const Operand& operand) {
    return operand.is_constant() || operand.type.nullable;
  };
  return {.kind = kind, .nullable = may_be_null(arithmetic.left) || may_be_null(arithmetic.right)};
}

class IntegerNode final : public ArithmeticNode {
 public:
  IntegerNode(const ValueType& type, const Arithmetic& arithmetic)
      : ArithmeticNode(type, arithmetic),
        short_(IsSigned(arithmetic.left) && IsSigned(arithmetic.right)) {}

  void Compute(Batch* batch, Selection* rows, ValueVector* values) const override {
    const Sides sides = ReadSides(batch, rows, values);
    const auto compute = [&](auto operation) {
      if (short_) return ComputeShort(operation, sides, batch, rows, values);
      ComputeLong(operation, sides, batch, rows, values);
    };
    if (arithmetic_.operation == Operation::kModulo) return compute(Modulo());
    WithOperation(arithmetic_.operation, compute);
  }

 private:
  static bool IsSigned(const Operand& operand) { return operand.type.kind == ValueKind::kSigned; }

  template <typename Op>
  void ComputeShort(Op, const Sides& sides, Batch* batch, Selection* rows,
                    ValueVector* values) const {
    auto* const target = values->As<int64_t>();
    WithNumbers<int64_t>(arithmetic_.left, sides.left, [&](auto left) {
      WithNumbers<int64_t>(arithmetic_.right, sides.right, [&](auto right) {
        ForRows(batch, rows, *values,
                [&](RowNumber row) { return Op::Overflows(left(row), right(row), &target[row]); });
      });
    });
  }

  /// Some side is unsigned: computes with more bits than either has.
  template <typename Op>
  void ComputeLong(Op, const Sides& sides, Batch* batch, Selection* rows,
                   ValueVector* values) const {
    const bool is_unsigned = arithmetic_.is_unsigned;
    const Wide least = is_unsigned ? 0 : std::numeric_limits<int64_t>::min();
    const Wide most = is_unsigned ? Wide{std::numeric_limits<uint64_t>::max()}
                                  : Wide{std::numeric_limits<int64_t>::max()};
    auto* const target = values->As<uint64_t>();
    WithNumbers<Wide>(arithmetic_.left, sides.left, [&](auto left) {
      WithNumbers<Wide>(arithmetic_.right, sides.right, [&](auto right) {
        ForRows(batch, rows, *values, [&](RowNumber row) {
          Wide result = 0;
          const bool overflows = Op::Overflows(left(row), right(row), &result);
          target[row] = static_cast<uint64_t>(result);
          return overflows || result < least || result > most;
        });
      });
    });
  }

  const bool short_;  ///< both sides are signed
};

class RealNode final : public ArithmeticNode {
 public:
  using ArithmeticNode::ArithmeticNode;

  void Compute(Batch* batch, Selection* rows, ValueVector* values) const override {
    const Sides sides = ReadSides(batch, rows, values);
    auto* const target = values->As<double>();
    WithOperation(arithmetic_.operation, [&](auto operation) {
      WithReals(arithmetic_.left, sides.left, [&](auto left) {
        WithReals(arithmetic_.right, sides.right, [&](auto right) {
          ForRows(batch, rows, *values, [&](RowNumber row) {
            target[row] = operation.Real(left(row), right(row));
            return !std::isfinite(target[row]);
          });
        });
      });
    });
  }
};

/// How a decimal result is computed.
struct DecimalPlan {
  ValueType type;
  Wide left_power = 1;  ///< what the sides are multiplied with
  Wide right_power = 1;
  bool checked = false;  ///< it may have more digits than a Wide
};

template <typename Number>
class DecimalNode final : public ArithmeticNode {
 public:
  DecimalNode(const DecimalPlan& plan, const Arithmetic& arithmetic)
      : ArithmeticNode(plan.type, arithmetic),
        left_power_(static_cast<Number>(plan.left_power)),
        right_power_(static_cast<Number>(plan.right_power)),
        checked_(plan.checked) {}

  void Compute(Batch* batch, Selection* rows, ValueVector* values) const override {
    const Sides sides = ReadSides(batch, rows, values);
    WithOperation(arithmetic_.operation, [&](auto operation) {
      WithNumbers<Number>(arithmetic_.left, sides.left, [&](auto left) {
        WithNumbers<Number>(arithmetic_.right, sides.right, [&](auto right) {
          ComputeRows(operation, left, right, batch, rows, values);
        });
      });
    });
  }

 private:
  template <typename Op, typename Left, typename Right>
  void ComputeRows(Op, Left left, Right right, Batch* batch, Selection* rows,
                   ValueVector* values) const {
    auto* const target = values->As<Number>();
    const auto compute = [&](RowNumber row) {
      Number a = left(row);
      Number b = right(row);
      bool overflows = false;
      if constexpr (!std::is_same_v<Op, Multiply>) {
        overflows = Multiply::Overflows(a, left_power_, &a);
        overflows = Multiply::Overflows(b, right_power_, &b) || overflows;
      }
      return Op::Overflows(a, b, &target[row]) || overflows;
    };
    if (!checked_ && !arithmetic_.is_unsigned) return ForRows(batch, rows, *values, compute);
    const Wide end = checked_ ? PowerOf10(kWideDigits) : std::numeric_limits<Wide>::max();
    const Wide least = arithmetic_.is_unsigned ? 0 : 1 - end;
    ForRows(batch, rows, *values, [&](RowNumber row) {
      return compute(row) || target[row] >= end || target[row] < least;
    });
  }

  const Number left_power_;
  const Number right_power_;
  const bool checked_;
};

uint32_t DigitsOf(const Operand& operand) { return operand.type.precision; }

/// nullopt: the server might cut digits.
std::optional<DecimalPlan> PlanDecimal(const Arithmetic& arithmetic) {
  constexpr uint32_t kScaleMax = 30;
  constexpr uint32_t kWord = 9;
  constexpr uint32_t kWordsMax = 9;
  const uint32_t left_scale = arithmetic.left.type.scale;
  const uint32_t right_scale = arithmetic.right.type.scale;
  const uint32_t left_whole = DigitsOf(arithmetic.left) - left_scale;
  const uint32_t right_whole = DigitsOf(arithmetic.right) - right_scale;
  const auto words = [](uint32_t digits) { return (digits + kWord - 1) / kWord; };
  DecimalPlan plan;
  uint32_t scale = std::max(left_scale, right_scale);
  uint32_t digits = std::max(left_whole, right_whole) + 1 + scale;
  if (arithmetic.operation == Operation::kMultiply) {
    scale = left_scale + right_scale;
    digits = DigitsOf(arithmetic.left) + DigitsOf(arithmetic.right);
    const uint32_t needed =
        words(left_whole) + words(right_whole) + words(left_scale) + words(right_scale);
    if (needed > kWordsMax) return std::nullopt;
  } else {
    if (words(digits - scale) + 1 + words(scale) > kWordsMax) return std::nullopt;
    plan.left_power = PowerOf10(scale - left_scale);
    plan.right_power = PowerOf10(scale - right_scale);
  }
  if (scale > kScaleMax) return std::nullopt;
  const bool is_short = digits <= kDecimalDigits;
  plan.type = ResultType(arithmetic, is_short ? ValueKind::kDecimal : ValueKind::kWideDecimal);
  plan.checked = digits > kWideDigits;
  plan.type.scale = static_cast<uint8_t>(scale);
  plan.type.precision = static_cast<uint8_t>(std::min(digits, kWideDigits));
  return plan;
}

}  // namespace

std::unique_ptr<ValueNode> MakeIntegerArithmetic(const Arithmetic& arithmetic) {
  ValueType type =
      ResultType(arithmetic, arithmetic.is_unsigned ? ValueKind::kUnsigned : ValueKind::kSigned);
  type.precision = arithmetic.is_unsigned ? 20 : 19;
  return std::make_unique<IntegerNode>(type, arithmetic);
}

std::unique_ptr<ValueNode> MakeDecimalArithmetic(const Arithmetic& arithmetic) {
  const std::optional<DecimalPlan> plan = PlanDecimal(arithmetic);
  if (!plan.has_value()) return nullptr;
  if (plan->type.kind == ValueKind::kDecimal) {
    return std::make_unique<DecimalNode<int64_t>>(*plan, arithmetic);
  }
  return std::make_unique<DecimalNode<Wide>>(*plan, arithmetic);
}

std::unique_ptr<ValueNode> MakeRealArithmetic(const Arithmetic& arithmetic) {
  return std::make_unique<RealNode>(ResultType(arithmetic, ValueKind::kDouble), arithmetic);
}

}  // namespace rowan
