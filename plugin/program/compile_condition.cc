// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/program/compile_condition.h"

#include <string_view>
#include <utility>

#include "plugin/program/compile_comparison.h"
#include "plugin/program/compile_operand.h"
#include "plugin/program/connectives.h"
#include "plugin/program/like_predicate.h"
#include "plugin/program/text_predicate.h"
#include "sql/item.h"
#include "sql/item_cmpfunc.h"

namespace rowan {
namespace {

using Made = std::unique_ptr<Predicate>;

Made CompileParts(Item_cond* item, BatchPlan* plan, const char** reason) {
  Predicates parts;
  List_iterator<Item> each(*item->argument_list());
  while (Item* part = each++) {
    Made made = CompileCondition(part, plan, reason);
    if (made == nullptr) return nullptr;
    parts.push_back(std::move(made));
  }
  if (item->functype() == Item_func::COND_AND_FUNC) {
    return MakeAnd(std::move(parts),
                   item->ignore_unknown() ? AndStops::kAtNull : AndStops::kAtFalse);
  }
  return MakeOr(std::move(parts));
}

bool HasXor(const Item* item) {
  return WalkItem(item, enum_walk::PREFIX, [](const Item* part) {
    return part->type() == Item::FUNC_ITEM &&
           down_cast<const Item_func*>(part)->functype() == Item_func::XOR_FUNC;
  });
}

/// Each side is asked twice, so sides with one of their own would be asked four times, and so on.
Made CompileXor(Item_func* item, BatchPlan* plan, const char** reason) {
  Item** const arguments = item->arguments();
  *reason = "XOR in XOR";
  if (item->argument_count() != 2 || HasXor(arguments[0]) || HasXor(arguments[1])) return nullptr;
  Made left = CompileCondition(arguments[0], plan, reason);
  Made right = left == nullptr ? nullptr : CompileCondition(arguments[1], plan, reason);
  return right == nullptr ? nullptr : MakeXor(std::move(left), std::move(right));
}

Made CompileNullTest(Item_func* item, bool negated, BatchPlan* plan, const char** reason) {
  const std::optional<ValueId> value = plan->AddValue(item->arguments()[0], reason);
  if (!value.has_value()) return nullptr;
  Made made = MakeIsNull(*value);
  return negated ? MakeNot(std::move(made)) : std::move(made);
}

/// IS [NOT] TRUE, IS [NOT] FALSE.
Made CompileTruthTest(Item_func* item, BatchPlan* plan, const char** reason) {
  Made made = CompileCondition(item->arguments()[0], plan, reason);
  if (made == nullptr) return nullptr;
  const std::string_view name = item->func_name();
  if (name == "is true") return MakeIsAnswer(std::move(made), Answer::kTrue, false);
  if (name == "is false") return MakeIsAnswer(std::move(made), Answer::kFalse, false);
  if (name == "is not true") return MakeIsAnswer(std::move(made), Answer::kTrue, true);
  if (name == "is not false") return MakeIsAnswer(std::move(made), Answer::kFalse, true);
  *reason = "kind of condition";
  return nullptr;
}

Made CompileNot(Item_func* item, BatchPlan* plan, const char** reason) {
  Made made = CompileCondition(item->arguments()[0], plan, reason);
  return made == nullptr ? nullptr : MakeNot(std::move(made));
}

Made CompileLike(Item_func* function, BatchPlan* plan, const char** reason) {
  auto* const item = down_cast<Item_func_like*>(function);
  Item** const arguments = item->arguments();
  *reason = "LIKE with a pattern that is no constant";
  if (!IsConstant(arguments[1]) || !item->escape_is_evaluated()) return nullptr;
  *reason = "constant text with LIKE";
  if (IsConstant(arguments[0])) return nullptr;
  LikeForm form{.collation = item->compare_collation(), .escape = item->escape()};
  const std::optional<ValueId> value = plan->AddValue(arguments[0], reason);
  if (!value.has_value()) return nullptr;
  *reason = "LIKE that converts a value";
  const ValueType& type = plan->TypeOf(*value);
  if (type.kind != ValueKind::kBytes || !HasCharsetOf(type, form.collation)) return nullptr;
  form.value = *value;
  form.pattern =
      plan->AddConstant(arguments[1], {.kind = ValueKind::kBytes, .charset = form.collation});
  return MakeLike(form, plan);
}

}  // namespace

Made CompileCondition(Item* condition, BatchPlan* plan, const char** reason) {
  const BatchPlan::Level level(plan);
  if (level.IsTooDeep(reason)) return nullptr;
  Item* const item = condition->real_item();
  if (item->type() == Item::COND_ITEM) {
    return CompileParts(down_cast<Item_cond*>(item), plan, reason);
  }
  *reason = "kind of condition";
  if (item->type() != Item::FUNC_ITEM) return nullptr;
  auto* const function = down_cast<Item_func*>(item);
  switch (function->functype()) {
    case Item_func::EQ_FUNC:
    case Item_func::EQUAL_FUNC:
    case Item_func::NE_FUNC:
    case Item_func::LT_FUNC:
    case Item_func::LE_FUNC:
    case Item_func::GE_FUNC:
    case Item_func::GT_FUNC: return CompileComparison(function, plan, reason);
    case Item_func::BETWEEN: return CompileBetween(function, plan, reason);
    case Item_func::IN_FUNC: return CompileIn(function, plan, reason);
    case Item_func::LIKE_FUNC: return CompileLike(function, plan, reason);
    case Item_func::ISNULL_FUNC: return CompileNullTest(function, false, plan, reason);
    case Item_func::ISNOTNULL_FUNC: return CompileNullTest(function, true, plan, reason);
    case Item_func::ISTRUTH_FUNC: return CompileTruthTest(function, plan, reason);
    case Item_func::NOT_FUNC: return CompileNot(function, plan, reason);
    case Item_func::XOR_FUNC: return CompileXor(function, plan, reason);
    default: return nullptr;
  }
}

}  // namespace rowan
