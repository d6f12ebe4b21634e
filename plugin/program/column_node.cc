// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/program/column_node.h"

namespace rowan {

std::unique_ptr<ValueNode> MakeColumnNode(const BatchPlan&, const Field*, const char** reason) {
  *reason = "column type";
  return nullptr;
}

}  // namespace rowan
