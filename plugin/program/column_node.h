// SPDX-License-Identifier: GPL-2.0-only
// Columns of stored rows -> nodes of a plan.
#pragma once

#include <memory>

#include "plugin/program/batch_plan.h"

namespace rowan {

/// Null, with a reason: the entries do not hold the column, or its type is not supported.
std::unique_ptr<ValueNode> MakeColumnNode(const BatchPlan& plan, const Field* field,
                                          const char** reason);

}  // namespace rowan
