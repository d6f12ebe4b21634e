// SPDX-License-Identifier: GPL-2.0-only
// FilterProgram: a condition of the server on one table, compiled for batches of stored rows.
// Thread safety: const after BatchPlan::Prepare.
#pragma once

#include <memory>

#include "plugin/program/predicate.h"

namespace rowan {

class FilterProgram {
 public:
  /// Null: the condition is not supported, and `*reason` says why in a few words. A condition of
  /// several parts joined by AND can be compiled part by part, so that those which are supported
  /// reject rows and the server evaluates the others. The values and constants that it needs are
  /// added to `*plan`.
  static std::unique_ptr<FilterProgram> Compile(Item* condition, BatchPlan* plan,
                                                const char** reason);

  /// Keeps the rows for which the condition is true; those that it cannot decide go aside.
  void Run(Batch* batch, Selection* rows) const {
    if (!rows->empty()) condition_->Select(Answer::kTrue, batch, rows);
  }

 private:
  explicit FilterProgram(std::unique_ptr<Predicate> condition) : condition_(std::move(condition)) {}

  const std::unique_ptr<Predicate> condition_;
};

}  // namespace rowan
