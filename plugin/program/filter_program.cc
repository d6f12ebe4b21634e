// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/program/filter_program.h"

#include "plugin/program/compile_condition.h"

namespace rowan {

std::unique_ptr<FilterProgram> FilterProgram::Compile(Item* condition, BatchPlan* plan,
                                                      const char** reason) {
  std::unique_ptr<Predicate> made = CompileCondition(condition, plan, reason);
  if (made == nullptr) return nullptr;
  return std::unique_ptr<FilterProgram>(new FilterProgram(std::move(made)));
}

}  // namespace rowan
