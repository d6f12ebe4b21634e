// SPDX-License-Identifier: GPL-2.0-only
// PartialAggregate: stands in for an aggregate function in the plan of a block whose rows are
// grouped in the engine (grouped_rows.h). The server calls it for each row that the scan delivers;
// it passes on to the function what the row stands for: the row itself, or what a group has come
// to. The function stays in all expressions, and is what the server reads results from.
//
// It replaces the function in the plan's list of them (JOIN::sum_funcs), which lives as long as the
// plan. Both ways in which the server aggregates are served: in the function's own state, and in a
// column of a temporary table.
// Thread safety: the statement's thread.
#pragma once

#include "sql/item_sum.h"

#include "plugin/blocks/grouped_rows.h"
#include "plugin/compat/server_line.h"

namespace rowan {

class PartialAggregate final : public AggregateOfAnother {
 public:
  /// COUNT, SUM and AVG of exact numbers and doubles, MIN, MAX, functions of the bits of integers;
  /// without DISTINCT. `aggregate`: with this number in `rows`, which outlive the executions of the
  /// plan.
  PartialAggregate(THD* thd, Item_sum* function, GroupedRows* rows, const Aggregate& aggregate,
                   size_t number)
      : AggregateOfAnother(thd, function), rows_(rows), aggregate_(aggregate), number_(number) {}
  /// After construction. False: no memory.
  [[nodiscard]] bool Prepare();

  // --- aggregation ---
  void clear() override { function_->clear(); }
  bool add() override;
  void reset_field() override;
  void update_field() override;

  // --- the rest is the function's ---
  enum Sumfunctype sum_func() const override { return function_->sum_func(); }
  const char* func_name() const override { return function_->func_name(); }
  Item_result result_type() const override { return function_->result_type(); }
  bool resolve_type(THD*) override { return false; }
  double val_real() override { return function_->val_real(); }
  longlong val_int() override { return function_->val_int(); }
  String* val_str(String* text) override { return function_->val_str(text); }
  my_decimal* val_decimal(my_decimal* value) override { return function_->val_decimal(value); }
  void print(const THD* thd, String* text, enum_query_type type) const override {
    function_->print(thd, text, type);
  }

 private:
  enum class Target { kState, kNewField, kField };
  void PassOn(Target target);
  void PassOnCount(Target target, ulonglong rows);
  void PassOnSum(Target target);
  void PassOnRealSum(Target target);
  void PassOnAverage(Target target, const my_decimal& sum);
  /// As if they were the argument of one row.
  void PassOnBits(Target target);
  /// MIN or MAX of the row that has it.
  void PassOnExtreme(Target target);
  /// The function takes the row in the record.
  void PassOnRow(Target target);
  [[nodiscard]] const AggregateState& state() const { return rows_->StateOf(number_); }

  GroupedRows* const rows_;
  const Aggregate aggregate_;
  const size_t number_;
  Item_int* bits_ = nullptr;  ///< of functions of bits
};

}  // namespace rowan
