// SPDX-License-Identifier: GPL-2.0-only
// Comparisons of one value with constants -> predicates: "value >= a", "value = a",
// "value >= a AND value <= b" (BETWEEN).
#pragma once

#include <memory>
#include <vector>

#include "plugin/program/interval.h"
#include "plugin/program/operand.h"
#include "plugin/program/predicate.h"

namespace rowan {

struct Limit {
  Comparison comparison = Comparison::kEqual;
  const Constant* constant = nullptr;
};

/// All limits must hold, as if joined by AND. Of any kind but kBytes and kDouble; so are the
/// constants.
std::unique_ptr<Predicate> MakeNumberRange(const Operand& value, std::vector<Limit> limits);
/// Compares doubles and integers with constants of kDouble.
std::unique_ptr<Predicate> MakeRealRange(const Operand& value, std::vector<Limit> limits);

}  // namespace rowan
