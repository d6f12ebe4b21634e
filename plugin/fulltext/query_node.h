// SPDX-License-Identifier: GPL-2.0-only
// QueryNode: what is asked for by AGAINST, as a tree of lists. An operator in a list applies to
// what follows it in the list.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace rowan {

/// What the documents found by a part of the query mean to those found before.
enum class QueryOperator : uint8_t {
  kNone,     ///< they are found, too
  kExclude,  ///< -
  kRequire,  ///< +
  kNegate,   ///< ~ those found before are ranked lower
  kLower,    ///< < found, and ranked lower
  kRaise,    ///< > found, and ranked higher
};

struct QueryNode {
  enum class Kind : uint8_t {
    kList,
    kGroup,     ///< in parentheses: has a result of its own
    kOperator,  ///< for the nodes after it in its list
    kWord,
    kPhrase,  ///< words in a row, or within a distance
  };
  using Pointer = std::unique_ptr<QueryNode>;

  Kind kind = Kind::kList;
  QueryOperator oper = QueryOperator::kNone;
  std::string text{};               ///< kWord: in small letters
  bool is_prefix = false;           ///< kWord: of any word that begins so
  uint32_t distance = 0;            ///< kPhrase: in words; 0: next to each other
  std::vector<Pointer> children{};  ///< kPhrase: its words, left out ones as well
  bool visited = false;

  QueryNode() = default;
  explicit QueryNode(Kind kind_of_node) : kind(kind_of_node) {}
  /// A null is not added.
  void Add(Pointer child) {
    if (child != nullptr) children.push_back(std::move(child));
  }
};

inline QueryNode::Pointer NewNode(QueryNode::Kind kind) {
  return std::make_unique<QueryNode>(kind);
}

}  // namespace rowan
