// SPDX-License-Identifier: GPL-2.0-only
// TextCompare: two texts by a collation as the server compares them. What ASCII characters decide
// is decided by a table; anything else by the collation.
// Thread safety: const.
#pragma once

#include <optional>

#include "plugin/program/ascii_rules.h"

namespace rowan {

class TextCompare {
 public:
  /// REQUIRES: both texts are in the character set of `collation`.
  explicit TextCompare(const CHARSET_INFO* collation);

  [[nodiscard]] bool Equal(Bytes left, Bytes right) const {
    if (left.size() == right.size() && EqualBytes(left, right)) return true;
    if (is_binary_) return false;
    if (rules_ != nullptr) [[likely]] {
      const int order = ByTable(left, right);
      if (order != kUndecided) [[likely]]
        return order == 0;
    }
    return Slow(left, right) == 0;
  }
  /// Less than 0, 0, or greater than 0.
  [[nodiscard]] int Compare(Bytes left, Bytes right) const {
    if (rules_ != nullptr && rules_->has_order) [[likely]] {
      const int order = ByTable(left, right);
      if (order != kUndecided) [[likely]]
        return order;
    }
    return Slow(left, right);
  }
  /// A number that has the order of texts where two of them have different ones. nullopt: there is
  /// none for this text.
  [[nodiscard]] std::optional<uint64_t> PrefixOf(Bytes text) const;

 private:
  static constexpr int kUndecided = 1 << 20;

  /// Only the sign of equality means something if the rules have no order.
  [[nodiscard]] int ByTable(Bytes left, Bytes right) const;
  [[nodiscard]] int Slow(Bytes left, Bytes right) const;

  const CHARSET_INFO* const collation_;
  const AsciiRules* const rules_;
  const bool is_binary_;  ///< compares bytes, spaces at the end too
  const bool pads_;       ///< spaces at the end do not count
};

}  // namespace rowan
