// SPDX-License-Identifier: GPL-2.0-only
// Comparisons of two values of a row -> predicates.
#pragma once

#include <memory>

#include "plugin/program/interval.h"
#include "plugin/program/operand.h"
#include "plugin/program/predicate.h"

namespace rowan {

/// Of values: integers and decimals, exactly; or of the same kind; or of a DATE and a DATETIME; or
/// of integers and doubles, as doubles if `as_reals`. Null: of others.
std::unique_ptr<Predicate> MakePairPredicate(const Operand& left, Comparison comparison,
                                             const Operand& right, bool as_reals);

}  // namespace rowan
