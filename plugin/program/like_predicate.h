// SPDX-License-Identifier: GPL-2.0-only
// LIKE with a constant pattern -> a predicate.
#pragma once

#include <memory>

#include "plugin/program/predicate.h"

namespace rowan {

struct LikeForm {
  ValueId value{};
  const CHARSET_INFO* collation = nullptr;
  const Constant* pattern = nullptr;
  int escape = 0;
};

/// The plan gets a step that takes the pattern.
std::unique_ptr<Predicate> MakeLike(const LikeForm& form, BatchPlan* plan);

}  // namespace rowan
