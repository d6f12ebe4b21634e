// SPDX-License-Identifier: GPL-2.0-only
// IN with constants -> a predicate.
#pragma once

#include <memory>
#include <vector>

#include "plugin/program/predicate.h"

namespace rowan {

/// `value`: of any kind but kDouble and kWideDecimal; of kBytes if `collation` is not null. The
/// plan gets a step that sorts the constants.
std::unique_ptr<Predicate> MakeIn(ValueId value, const CHARSET_INFO* collation,
                                  std::vector<const Constant*> constants, BatchPlan* plan);

}  // namespace rowan
