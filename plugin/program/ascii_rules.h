// SPDX-License-Identifier: GPL-2.0-only
// AsciiRules: what a collation makes of single ASCII characters, asked of the collation itself. For
// collations that compare such characters one by one, so that texts of nothing else can be compared
// by a table. Thread safety: constant; made once per collation.
#pragma once

#include <array>
#include <cstdint>

#include "base/bytes.h"

struct CHARSET_INFO;

namespace rowan {

struct AsciiRules {
  /// Characters are equal if they have the same number; 0: ignorable, or not ASCII.
  std::array<uint8_t, 256> rank{};
  /// The rank also gives the order, by the first difference.
  bool has_order = false;
  /// For LIKE: characters match if they have the same number, which is one of them; of ASCII only.
  std::array<uint8_t, 256> like{};

  /// Null: the collation is not known to compare ASCII characters one by one.
  static const AsciiRules* Of(const CHARSET_INFO* collation);
};

[[nodiscard]] bool IsAscii(Bytes text);

}  // namespace rowan
