// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/program/ascii_rules.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <vector>

#include "mysql/strings/m_ctype.h"
#include "plugin/program/per_collation.h"

namespace rowan {
namespace {

constexpr int kAsciiEnd = 128;

/// Weights of the first level decide in all of these, or bytes do; none has contractions or
/// expansions that begin with an ASCII character and change its first weight.
constexpr std::string_view kOrdered[] = {"utf8mb4_0900_ai_ci", "utf8mb4_general_ci", "utf8mb4_bin",
                                         "utf8mb4_0900_bin",   "utf8mb3_general_ci", "utf8mb3_bin",
                                         "latin1_swedish_ci",  "latin1_general_ci",  "latin1_bin",
                                         "ascii_general_ci",   "ascii_bin",          "binary"};
/// Later levels may decide: only equality can be read off character by character.
constexpr std::string_view kUnordered[] = {"utf8mb4_0900_as_ci", "utf8mb4_0900_as_cs"};

template <size_t kSize>
bool IsOneOf(const char* name, const std::string_view (&names)[kSize]) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

int Compare(const CHARSET_INFO* collation, std::string_view left, std::string_view right) {
  return collation->coll->strnncollsp(
      collation, reinterpret_cast<const unsigned char*>(left.data()), left.size(),
      reinterpret_cast<const unsigned char*>(right.data()), right.size());
}

bool Matches(const CHARSET_INFO* collation, char value, char pattern) {
  return collation->coll->wildcmp(collation, &value, &value + 1, &pattern, &pattern + 1, -1, -1,
                                  -1) == 0;
}

/// An ignorable character changes nothing.
bool IsIgnorable(const CHARSET_INFO* collation, char character) {
  const char with[] = {'a', character, 'a'};
  return Compare(collation, {with, 3}, "aa") == 0;
}

void RankCharacters(const CHARSET_INFO* collation, AsciiRules* rules) {
  std::vector<char> characters;
  for (int c = 0; c < kAsciiEnd; ++c) {
    if (!IsIgnorable(collation, static_cast<char>(c))) characters.push_back(static_cast<char>(c));
  }
  const auto compare = [collation](char left, char right) {
    // Behind another character, as a space alone may be padding.
    const char texts[] = {'a', left, 'a', 'a', right, 'a'};
    return Compare(collation, {texts, 3}, {texts + 3, 3});
  };
  std::stable_sort(characters.begin(), characters.end(),
                   [&](char left, char right) { return compare(left, right) < 0; });
  uint8_t rank = 0;
  for (size_t i = 0; i < characters.size(); ++i) {
    if (i == 0 || compare(characters[i - 1], characters[i]) != 0) ++rank;
    rules->rank[static_cast<uint8_t>(characters[i])] = rank;
  }
}

void FindMatches(const CHARSET_INFO* collation, AsciiRules* rules) {
  for (int c = 0; c < kAsciiEnd; ++c) {
    int first = 0;
    while (first < c && !Matches(collation, static_cast<char>(c), static_cast<char>(first))) {
      ++first;
    }
    rules->like[static_cast<size_t>(c)] = static_cast<uint8_t>(first);
  }
}

std::unique_ptr<const AsciiRules> MakeRules(const CHARSET_INFO* collation) {
  const char* const name = collation->m_coll_name;
  const bool has_order = IsOneOf(name, kOrdered);
  if (!has_order && !IsOneOf(name, kUnordered)) return nullptr;
  auto rules = std::make_unique<AsciiRules>();
  rules->has_order = has_order;
  RankCharacters(collation, rules.get());
  FindMatches(collation, rules.get());
  return rules;
}

}  // namespace

const AsciiRules* AsciiRules::Of(const CHARSET_INFO* collation) {
  static PerCollation<AsciiRules> known;
  return known.Of(collation, MakeRules);
}

bool IsAscii(Bytes text) {
  constexpr uint64_t kHighBits = 0x8080808080808080;
  const std::byte* position = text.data();
  size_t left = text.size();
  uint64_t any = 0;
  for (; left >= 8; left -= 8, position += 8) any |= LoadLe<uint64_t>(position);
  uint64_t rest = 0;
  std::memcpy(&rest, position, left);
  return ((any | rest) & kHighBits) == 0;
}

}  // namespace rowan
