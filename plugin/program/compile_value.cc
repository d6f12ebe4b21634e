// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/program/compile_value.h"

#include <string_view>

#include "plugin/program/arithmetic.h"
#include "plugin/program/compile_operand.h"
#include "plugin/program/date_part.h"
#include "plugin/program/text_length.h"
#include "sql/field.h"
#include "sql/item.h"
#include "sql/item_func.h"
#include "sql/item_timefunc.h"

namespace rowan {
namespace {

using Value = std::optional<ValueId>;

Value CompileField(const Field* field, BatchPlan* plan, const char** reason) {
  const enum_field_types type = field->real_type();
  if (type == MYSQL_TYPE_ENUM || type == MYSQL_TYPE_SET) {
    *reason = "ENUM or SET in an expression";
    return std::nullopt;
  }
  return plan->AddColumn(field, reason);
}

std::optional<Operation> OperationOf(Item_func::Functype kind) {
  switch (kind) {
    case Item_func::PLUS_FUNC: return Operation::kAdd;
    case Item_func::MINUS_FUNC: return Operation::kSubtract;
    case Item_func::MUL_FUNC: return Operation::kMultiply;
    case Item_func::MOD_FUNC: return Operation::kModulo;
    default: return std::nullopt;
  }
}

ConstantForm FormFor(const Item* argument, Item_result result) {
  if (result == REAL_RESULT) return {.kind = ValueKind::kDouble};
  if (argument->result_type() == INT_RESULT) return {.kind = ValueKind::kSigned};
  return {.kind = ValueKind::kWideDecimal};
}

bool Fits(const Operand& operand, Item_result result) {
  switch (result) {
    case INT_RESULT: return operand.is_integer();
    case DECIMAL_RESULT: return operand.is_integer() || operand.is_decimal();
    default: return operand.is_integer() || operand.type.kind == ValueKind::kDouble;
  }
}

std::unique_ptr<ValueNode> MakeArithmetic(const Arithmetic& arithmetic, Item_result result) {
  if (result == INT_RESULT) return MakeIntegerArithmetic(arithmetic);
  if (arithmetic.operation == Operation::kModulo) return nullptr;
  switch (result) {
    case DECIMAL_RESULT: return MakeDecimalArithmetic(arithmetic);
    default: return MakeRealArithmetic(arithmetic);
  }
}

/// Of 0 the server warns, as often as it evaluates it.
bool IsSafeDivisor(Item* item) {
  return IsConstant(item) && item->const_item() && item->result_type() == INT_RESULT &&
         item->val_int() != 0;
}

/// `left` absent: 0.
Value CompileArithmetic(Item_func* item, Operation operation, BatchPlan* plan,
                        const char** reason) {
  const Item_result result = item->result_type();
  if (item->is_temporal() || result == STRING_RESULT || result == ROW_RESULT) {
    *reason = "arithmetic on other than numbers";
    return std::nullopt;
  }
  if (operation == Operation::kModulo && !IsSafeDivisor(item->arguments()[1])) {
    *reason = "remainder of other than a division by a constant";
    return std::nullopt;
  }
  Arithmetic arithmetic{.operation = operation, .left = {}, .right = {}};
  arithmetic.is_unsigned =
      item->unsigned_flag && (result == INT_RESULT || operation == Operation::kSubtract);
  Item** const arguments = item->arguments();
  const bool is_binary = item->argument_count() == 2;
  if (is_binary) {
    const auto left = CompileOperand(arguments[0], FormFor(arguments[0], result), plan, reason);
    if (!left.has_value()) return std::nullopt;
    arithmetic.left = *left;
  } else {
    arithmetic.left.type = {.kind = ValueKind::kSigned, .precision = 1};
    arithmetic.left.constant = plan->AddNumber(0);
  }
  Item* const last = arguments[is_binary ? 1 : 0];
  const auto right = CompileOperand(last, FormFor(last, result), plan, reason);
  if (!right.has_value()) return std::nullopt;
  arithmetic.right = *right;
  *reason = "arithmetic on these types";
  if (!Fits(arithmetic.left, result) || !Fits(*right, result)) return std::nullopt;
  std::unique_ptr<ValueNode> node = MakeArithmetic(arithmetic, result);
  if (node == nullptr) return std::nullopt;
  return plan->AddNode(std::move(node));
}

/// A function of one value: `make` of the value and its type, null where it has no such type.
template <typename Make>
Value CompileFunctionOf(Item* argument, Make make, const char* refusal, BatchPlan* plan,
                        const char** reason) {
  const Value value = plan->AddValue(argument, reason);
  if (!value.has_value()) return std::nullopt;
  std::unique_ptr<ValueNode> node = make(*value, plan->TypeOf(*value));
  *reason = refusal;
  if (node == nullptr) return std::nullopt;
  return plan->AddNode(std::move(node));
}

std::optional<DatePart> DatePartOf(const Item_func* item) {
  switch (item->functype()) {
    case Item_func::YEAR_FUNC: return DatePart::kYear;
    case Item_func::MONTH_FUNC: return DatePart::kMonth;
    case Item_func::DAY_FUNC: return DatePart::kDay;
    case Item_func::EXTRACT_FUNC: break;
    default: return std::nullopt;
  }
  switch (down_cast<const Item_extract*>(item)->int_type) {
    case INTERVAL_YEAR: return DatePart::kYear;
    case INTERVAL_MONTH: return DatePart::kMonth;
    case INTERVAL_DAY: return DatePart::kDay;
    case INTERVAL_YEAR_MONTH: return DatePart::kYearMonth;
    default: return std::nullopt;
  }
}

std::optional<LengthUnit> LengthUnitOf(const Item_func* item) {
  const std::string_view name = item->func_name();
  if (name == "length") return LengthUnit::kBytes;
  if (name == "char_length") return LengthUnit::kCharacters;
  return std::nullopt;
}

}  // namespace

Value CompileValue(Item* item, BatchPlan* plan, const char** reason) {
  Item* const real = item->real_item();
  if (real->type() == Item::FIELD_ITEM) {
    return CompileField(down_cast<Item_field*>(real)->field, plan, reason);
  }
  *reason = "kind of expression";
  if (real->type() != Item::FUNC_ITEM) return std::nullopt;
  auto* const function = down_cast<Item_func*>(real);
  if (const auto operation = OperationOf(function->functype()); operation.has_value()) {
    return CompileArithmetic(function, *operation, plan, reason);
  }
  if (function->functype() == Item_func::NEG_FUNC && !function->arguments()[0]->unsigned_flag &&
      function->result_type() != REAL_RESULT) {
    return CompileArithmetic(function, Operation::kSubtract, plan, reason);
  }
  if (const auto part = DatePartOf(function); part.has_value()) {
    const auto make = [&](ValueId date, const ValueType& type) {
      return MakeDatePart(date, type, *part);
    };
    return CompileFunctionOf(function->arguments()[0], make, "part of other than a date", plan,
                             reason);
  }
  if (const auto unit = LengthUnitOf(function); unit.has_value()) {
    const auto make = [&](ValueId text, const ValueType& type) {
      return MakeTextLength(text, type, *unit);
    };
    return CompileFunctionOf(function->arguments()[0], make, "length of other than a text", plan,
                             reason);
  }
  return std::nullopt;
}

}  // namespace rowan
