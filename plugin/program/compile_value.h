// SPDX-License-Identifier: GPL-2.0-only
// Items that have a value -> nodes of a plan.
// Thread safety: only the thread that optimises the statement.
#pragma once

#include <optional>

#include "plugin/program/batch_plan.h"

namespace rowan {

/// See BatchPlan::AddValue, which finds what is known already.
std::optional<ValueId> CompileValue(Item* item, BatchPlan* plan, const char** reason);

}  // namespace rowan
