// SPDX-License-Identifier: GPL-2.0-only
// The server's comparisons of two sides, BETWEEN and IN -> predicates. The type that a pair is
// compared in is the one that the server has chosen for it.
// Thread safety: only the thread that optimises the statement.
#pragma once

#include <memory>

#include "plugin/program/predicate.h"

class Item_func;

namespace rowan {

/// = <=> <> < <= > >=
std::unique_ptr<Predicate> CompileComparison(Item_func* item, BatchPlan* plan, const char** reason);
/// [NOT] BETWEEN
std::unique_ptr<Predicate> CompileBetween(Item_func* item, BatchPlan* plan, const char** reason);
/// [NOT] IN (constants)
std::unique_ptr<Predicate> CompileIn(Item_func* item, BatchPlan* plan, const char** reason);

}  // namespace rowan
