// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/program/text_compare.h"

#include <algorithm>

#include "mysql/strings/m_ctype.h"

namespace rowan {

TextCompare::TextCompare(const CHARSET_INFO* collation)
    : collation_(collation),
      rules_(collation == &my_charset_bin ? nullptr : AsciiRules::Of(collation)),
      is_binary_(collation == &my_charset_bin),
      pads_(collation->pad_attribute == PAD_SPACE) {}

int TextCompare::ByTable(Bytes left, Bytes right) const {
  const auto& rank = rules_->rank;
  const size_t both = std::min(left.size(), right.size());
  for (size_t i = 0; i < both; ++i) {
    const uint8_t a = rank[static_cast<uint8_t>(left[i])];
    const uint8_t b = rank[static_cast<uint8_t>(right[i])];
    if (a == 0 || b == 0) return kUndecided;
    if (a != b) return a < b ? -1 : 1;
  }
  if (left.size() == right.size()) return 0;
  const Bytes& longer = left.size() > right.size() ? left : right;
  // A character that counts decides; with padding it must be other than a space.
  if (pads_ || rank[static_cast<uint8_t>(longer[both])] == 0) return kUndecided;
  return left.size() < right.size() ? -1 : 1;
}

std::optional<uint64_t> TextCompare::PrefixOf(Bytes text) const {
  if (rules_ == nullptr || !rules_->has_order) return std::nullopt;
  uint64_t prefix = 0;
  const size_t both = std::min(text.size(), sizeof(prefix));
  for (size_t i = 0; i < both; ++i) {
    const uint8_t rank = rules_->rank[static_cast<uint8_t>(text[i])];
    if (rank == 0) return std::nullopt;
    prefix = prefix << 8 | rank;
  }
  // What follows the end is less than any character, or the same as spaces.
  const uint8_t after = pads_ ? rules_->rank[' '] : 0;
  if (pads_ && after == 0) return std::nullopt;
  for (size_t i = both; i < sizeof(prefix); ++i) prefix = prefix << 8 | after;
  return prefix;
}

int TextCompare::Slow(Bytes left, Bytes right) const {
  if (is_binary_) {
    const size_t both = std::min(left.size(), right.size());
    const int order = both == 0 ? 0 : std::memcmp(left.data(), right.data(), both);
    if (order != 0) return order;
    return left.size() < right.size() ? -1 : left.size() > right.size() ? 1 : 0;
  }
  return collation_->coll->strnncollsp(
      collation_, reinterpret_cast<const unsigned char*>(left.data()), left.size(),
      reinterpret_cast<const unsigned char*>(right.data()), right.size());
}

}  // namespace rowan
