// SPDX-License-Identifier: GPL-2.0-only
// QueryNode: what AGAINST asks for, as a tree of lists. An operator in a list applies to what
// follows it in the list.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace rowan {

/// What the documents found by one part of the query mean for those found by earlier parts.
enum class QueryOperator : uint8_t {
  kNone,     ///< found, too
  kExclude,  ///< -
  kRequire,  ///< +
  kNegate,   ///< ~ those found earlier are ranked lower
  kLower,    ///< < found, and ranked lower
  kRaise,    ///< > found, and ranked higher
};

struct QueryNode {
  enum class Kind : uint8_t {
    kList,
    kGroup,     ///< in parentheses: has its own result
    kOperator,  ///< for the nodes after it in its list
    kWord,
    kPhrase,  ///< words in a row, or within a distance
  };
  using Pointer = std::unique_ptr<QueryNode>;

  Kind kind = Kind::kList;
  QueryOperator oper = QueryOperator::kNone;
  std::string text{};               ///< kWord: in lower case
  bool is_prefix = false;           ///< kWord: any word with this prefix
  uint32_t distance = 0;            ///< kPhrase: in words; 0: next to each other
  std::vector<Pointer> children{};  ///< kPhrase: its words, including left-out ones
  bool visited = false;

  QueryNode() = default;
  explicit QueryNode(Kind kind_of_node) : kind(kind_of_node) {}
  /// Ignores null.
  void Add(Pointer child) {
    if (child != nullptr) children.push_back(std::move(child));
  }
};

inline QueryNode::Pointer NewNode(QueryNode::Kind kind) {
  return std::make_unique<QueryNode>(kind);
}

}  // namespace rowan
