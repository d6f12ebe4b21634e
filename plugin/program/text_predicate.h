// SPDX-License-Identifier: GPL-2.0-only
// Comparisons of texts -> predicates. See range_predicate.h and pair_predicate.h.
#pragma once

#include <memory>
#include <vector>

#include "plugin/program/predicate.h"
#include "plugin/program/range_predicate.h"

namespace rowan {

/// The values are in the collation's character set.
[[nodiscard]] bool HasCharsetOf(const ValueType& type, const CHARSET_INFO* collation);

std::unique_ptr<Predicate> MakeTextRange(ValueId value, const CHARSET_INFO* collation,
                                         std::vector<Limit> limits);
std::unique_ptr<Predicate> MakeTextPair(ValueId left, Comparison comparison, ValueId right,
                                        const CHARSET_INFO* collation);

}  // namespace rowan
