// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/program/compile_comparison.h"

#include <array>
#include <utility>

#include "plugin/program/compare_domain.h"
#include "plugin/program/compile_operand.h"
#include "plugin/program/connectives.h"
#include "plugin/program/in_predicate.h"
#include "plugin/program/pair_predicate.h"
#include "plugin/program/range_predicate.h"
#include "plugin/program/text_predicate.h"
#include "sql/item_cmpfunc.h"

namespace rowan {
namespace {

using Made = std::unique_ptr<Predicate>;

/// `evaluated`: what the server has made of the item if it is a constant.
std::optional<Operand> CompileSide(Item* item, Item* evaluated, const CompareDomain& domain,
                                   BatchPlan* plan, const char** reason) {
  if (IsConstant(item)) {
    Operand operand;
    operand.constant = plan->AddConstant(evaluated, domain.Form());
    return operand;
  }
  const std::optional<Operand> operand = CompileOperand(item, {}, plan, reason);
  if (!operand.has_value()) return std::nullopt;
  if (domain.Has(operand->type.kind) &&
      (domain.as != CompareAs::kText || HasCharsetOf(operand->type, domain.collation))) {
    return operand;
  }
  *reason = "comparison that converts a value";
  return std::nullopt;
}

Made CompareWithConstants(const Operand& operand, const CompareDomain& domain,
                          std::vector<Limit> limits) {
  if (domain.as == CompareAs::kText) {
    return MakeTextRange(operand.value, domain.collation, std::move(limits));
  }
  if (domain.as == CompareAs::kReals) return MakeRealRange(operand, std::move(limits));
  return MakeNumberRange(operand, std::move(limits));
}

Made ComparePair(const Operand& left, Comparison comparison, const Operand& right,
                 const CompareDomain& domain) {
  if (domain.as == CompareAs::kText) {
    return MakeTextPair(left.value, comparison, right.value, domain.collation);
  }
  return MakePairPredicate(left, comparison, right, domain.as == CompareAs::kReals);
}

struct Question {
  Comparison comparison = Comparison::kEqual;
  bool negated = false;
};

std::optional<Question> QuestionOf(Item_func::Functype kind) {
  switch (kind) {
    case Item_func::EQ_FUNC:
    case Item_func::EQUAL_FUNC: return Question{Comparison::kEqual};
    case Item_func::NE_FUNC: return Question{Comparison::kEqual, true};
    case Item_func::LT_FUNC: return Question{Comparison::kLess};
    case Item_func::LE_FUNC: return Question{Comparison::kLessEqual};
    case Item_func::GT_FUNC: return Question{Comparison::kGreater};
    case Item_func::GE_FUNC: return Question{Comparison::kGreaterEqual};
    default: return std::nullopt;
  }
}

/// `value comparison limit`; not both are constants.
Made CompareSides(const Operand& value, Comparison comparison, const Operand& limit,
                  const CompareDomain& domain) {
  if (limit.is_constant()) {
    return CompareWithConstants(value, domain, {{comparison, limit.constant}});
  }
  if (value.is_constant()) {
    return CompareWithConstants(limit, domain, {{Mirrored(comparison), value.constant}});
  }
  return ComparePair(value, comparison, limit, domain);
}

/// `equal`: the comparison by "=".
Made MakeNullSafe(Made equal, const Operand& left, const Operand& right) {
  // Where neither side is NULL it is "=", which is false or NULL otherwise.
  const auto is_null = [](const Operand& side) {
    return side.is_constant() ? MakeIsNull(side.constant) : MakeIsNull(side.value);
  };
  Predicates both;
  both.push_back(is_null(left));
  both.push_back(is_null(right));
  Predicates either;
  either.push_back(MakeIsAnswer(std::move(equal), Answer::kTrue, false));
  either.push_back(MakeAnd(std::move(both), AndStops::kAtFalse));
  return MakeOr(std::move(either));
}

}  // namespace

Made CompileComparison(Item_func* item, BatchPlan* plan, const char** reason) {
  const std::optional<Question> question = QuestionOf(item->functype());
  Item** const arguments = item->arguments();
  *reason = "kind of condition";
  if (!question.has_value() || arguments[0]->result_type() == ROW_RESULT) return nullptr;
  const Arg_comparator& comparator = *down_cast<Item_bool_func2*>(item)->get_comparator();
  const std::optional<CompareDomain> domain = DomainOf(comparator, reason);
  if (!domain.has_value()) return nullptr;
  const std::optional<Operand> left =
      CompileSide(arguments[0], *comparator.get_left_ptr(), *domain, plan, reason);
  if (!left.has_value()) return nullptr;
  const std::optional<Operand> right =
      CompileSide(arguments[1], comparator.get_right(), *domain, plan, reason);
  if (!right.has_value()) return nullptr;
  *reason = "comparison of these types";
  if (left->is_constant() && right->is_constant()) return nullptr;
  Made made = CompareSides(*left, question->comparison, *right, *domain);
  if (made == nullptr) return nullptr;
  if (item->functype() == Item_func::EQUAL_FUNC) {
    return MakeNullSafe(std::move(made), *left, *right);
  }
  return question->negated ? MakeNot(std::move(made)) : std::move(made);
}

Made CompileBetween(Item_func* function, BatchPlan* plan, const char** reason) {
  auto* const item = down_cast<Item_func_between*>(function);
  const std::optional<CompareDomain> domain = DomainOf(item, reason);
  if (!domain.has_value()) return nullptr;
  Item** const arguments = item->arguments();
  std::array<Operand, 3> sides;
  for (size_t i = 0; i < sides.size(); ++i) {
    const std::optional<Operand> side =
        CompileSide(arguments[i], arguments[i], *domain, plan, reason);
    if (!side.has_value()) return nullptr;
    sides[i] = *side;
  }
  *reason = "comparison of these types";
  const auto& [value, least, most] = sides;
  Made made;
  if (!value.is_constant() && least.is_constant() && most.is_constant()) {
    made = CompareWithConstants(
        value, *domain,
        {{Comparison::kGreaterEqual, least.constant}, {Comparison::kLessEqual, most.constant}});
  } else {
    if (value.is_constant() && (least.is_constant() || most.is_constant())) return nullptr;
    Predicates parts;
    parts.push_back(CompareSides(value, Comparison::kGreaterEqual, least, *domain));
    parts.push_back(CompareSides(value, Comparison::kLessEqual, most, *domain));
    if (parts[0] == nullptr || parts[1] == nullptr) return nullptr;
    made = MakeAnd(std::move(parts), AndStops::kNever);
  }
  return item->negated ? MakeNot(std::move(made)) : std::move(made);
}

Made CompileIn(Item_func* function, BatchPlan* plan, const char** reason) {
  auto* const item = down_cast<Item_func_in*>(function);
  Item** const arguments = item->arguments();
  const std::optional<CompareDomain> domain = DomainOf(item, reason);
  if (!domain.has_value()) return nullptr;
  *reason = "IN with other than constants";
  if (IsConstant(arguments[0])) return nullptr;
  const std::optional<Operand> value =
      CompileSide(arguments[0], arguments[0], *domain, plan, reason);
  if (!value.has_value()) return nullptr;
  std::vector<const Constant*> constants;
  for (uint32_t i = 1; i < item->argument_count(); ++i) {
    if (!IsConstant(arguments[i])) return nullptr;
    constants.push_back(plan->AddConstant(arguments[i], domain->Form()));
  }
  *reason = "IN of this type";
  if (value->type.kind == ValueKind::kWideDecimal) return nullptr;
  Made made = MakeIn(value->value, domain->collation, std::move(constants), plan);
  return item->negated ? MakeNot(std::move(made)) : std::move(made);
}

}  // namespace rowan
