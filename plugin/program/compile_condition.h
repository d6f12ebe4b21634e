// SPDX-License-Identifier: GPL-2.0-only
// The server's conditions -> predicates.
// Thread safety: only the thread that optimises the statement.
#pragma once

#include <memory>

#include "plugin/program/predicate.h"

class Item;

namespace rowan {

/// Null, with a reason: it is not supported.
std::unique_ptr<Predicate> CompileCondition(Item* item, BatchPlan* plan, const char** reason);

}  // namespace rowan
