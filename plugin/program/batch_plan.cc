// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/program/batch_plan.h"

#include <algorithm>
#include <utility>

#include "plugin/compat/server_line.h"
#include "plugin/program/column_node.h"
#include "plugin/program/compile_value.h"
#include "plugin/program/quiet_evaluation.h"
#include "sql/current_thd.h"
#include "sql/field.h"
#include "sql/item.h"
#include "sql/item_func.h"

namespace rowan {

BatchPlan::BatchPlan(const TABLE* table, const TableLayout& layout, uint32_t index_number)
    : table_(table), layout_(layout), index_number_(index_number) {}

BatchPlan::~BatchPlan() = default;

ValueId BatchPlan::AddNode(std::unique_ptr<ValueNode> node) {
  nodes_.push_back(std::move(node));
  return ValueId{static_cast<uint32_t>(nodes_.size() - 1)};
}

const Constant* BatchPlan::AddConstant(Item* item, const ConstantForm& form) {
  constants_.push_back(std::make_unique<Constant>(item, form));
  return constants_.back().get();
}

const Constant* BatchPlan::AddNumber(int64_t number) {
  constants_.push_back(std::make_unique<Constant>(number));
  return constants_.back().get();
}

namespace {

/// The same in all that matters to a program. Item::eq takes 1.5 for 1.50, but what is computed of
/// them has another scale.
bool AreSame(const Item* one, const Item* other) {
  if (one == other) return true;
  if (!AreEqualItems(one, other) || one->decimals != other->decimals ||
      one->data_type() != other->data_type() || one->unsigned_flag != other->unsigned_flag) {
    return false;
  }
  if (one->type() != Item::FUNC_ITEM || other->type() != Item::FUNC_ITEM) return true;
  const auto* const left = down_cast<const Item_func*>(one);
  const auto* const right = down_cast<const Item_func*>(other);
  if (left->argument_count() != right->argument_count()) return false;
  for (uint i = 0; i < left->argument_count(); ++i) {
    if (!AreSame(left->arguments()[i]->real_item(), right->arguments()[i]->real_item())) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::optional<ValueId> BatchPlan::AddValue(Item* item, const char** reason) {
  const Level level(this);
  if (level.IsTooDeep(reason)) return std::nullopt;
  for (const KnownItem& known : items_) {
    if (!AreSame(known.item, item)) continue;
    deepest_ = std::max(deepest_, level_ - 1 + known.levels);
    *reason = "deep expression";
    return deepest_ <= kLevelsMax ? std::optional(known.id) : std::nullopt;
  }
  const uint32_t deepest_before = std::exchange(deepest_, level_);
  std::optional<ValueId> id = CompileValue(item, this, reason);
  if (id.has_value()) items_.push_back({item, *id, deepest_ - level_ + 1});
  deepest_ = std::max(deepest_, deepest_before);
  return id;
}

std::optional<ValueId> BatchPlan::AddColumn(const Field* field, const char** reason) {
  for (const KnownColumn& known : columns_) {
    if (known.field == field) return known.id;
  }
  std::unique_ptr<ValueNode> node = MakeColumnNode(*this, field, reason);
  if (node == nullptr) return std::nullopt;
  const ValueId id = AddNode(std::move(node));
  columns_.push_back({field, id});
  return id;
}

bool BatchPlan::EvaluateConstants() {
  QuietEvaluation evaluation(current_thd);
  for (const std::unique_ptr<Constant>& constant : constants_) {
    if (constant->item() != nullptr) evaluation.Watch(constant->item());
  }
  const bool have_values =
      std::all_of(constants_.begin(), constants_.end(),
                  [](const std::unique_ptr<Constant>& constant) { return constant->Evaluate(); });
  return evaluation.End() && have_values;
}

bool BatchPlan::Prepare() {
  if (!EvaluateConstants()) return false;
  for (const std::function<bool()>& step : steps_) {
    if (!step()) return false;
  }
  return true;
}

}  // namespace rowan
