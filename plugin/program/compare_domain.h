// SPDX-License-Identifier: GPL-2.0-only
// What two or more items are compared as.
// Thread safety: only the thread that optimises the statement.
#pragma once

#include <optional>

#include "plugin/program/constant.h"
#include "plugin/program/operand.h"

class Arg_comparator;
class Item_func_between;
class Item_func_in;

namespace rowan {

enum class CompareAs : uint8_t { kIntegers, kDecimals, kReals, kDates, kDatetimes, kTimes, kText };

struct CompareDomain {
  CompareAs as = CompareAs::kIntegers;
  const CHARSET_INFO* collation = nullptr;  ///< of kText

  /// The form of a constant in it.
  [[nodiscard]] ConstantForm Form() const;
  /// Whether values of a kind can be compared in it.
  [[nodiscard]] bool Has(ValueKind kind) const;
};

/// nullopt, with a reason: as something else.
std::optional<CompareDomain> DomainOf(const Arg_comparator& comparator, const char** reason);
std::optional<CompareDomain> DomainOf(Item_func_between* item, const char** reason);
std::optional<CompareDomain> DomainOf(Item_func_in* item, const char** reason);

}  // namespace rowan
