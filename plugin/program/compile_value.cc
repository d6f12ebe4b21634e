// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/program/compile_value.h"

#include "sql/item.h"

namespace rowan {

std::optional<ValueId> CompileValue(Item* item, BatchPlan* plan, const char** reason) {
  Item* const real = item->real_item();
  if (real->type() == Item::FIELD_ITEM) {
    return plan->AddColumn(down_cast<Item_field*>(real)->field, reason);
  }
  *reason = "kind of expression";
  return std::nullopt;
}

}  // namespace rowan
