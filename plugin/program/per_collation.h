// SPDX-License-Identifier: GPL-2.0-only
// PerCollation: what is found out about a collation once, for all statements.
// Thread safety: any thread. A list that only grows; two threads that find out the same at once
// both add it, which does no harm.
#pragma once

#include <atomic>
#include <memory>
#include <utility>

struct CHARSET_INFO;

namespace rowan {

template <typename Table>
class PerCollation {
 public:
  PerCollation() = default;
  PerCollation(const PerCollation&) = delete;
  PerCollation& operator=(const PerCollation&) = delete;
  ~PerCollation() {
    for (const Node* node = first_.load(); node != nullptr;) {
      const std::unique_ptr<const Node> gone(node);
      node = gone->next;
    }
  }

  /// `make(collation)` gives a unique_ptr, which may be null.
  template <typename Make>
  const Table* Of(const CHARSET_INFO* collation, Make make) {
    for (const Node* node = first_.load(); node != nullptr; node = node->next) {
      if (node->collation == collation) return node->table.get();
    }
    auto added = std::make_unique<Node>(Node{collation, make(collation), first_.load()});
    while (!first_.compare_exchange_weak(added->next, added.get())) continue;
    return added.release()->table.get();
  }

 private:
  struct Node {
    const CHARSET_INFO* collation = nullptr;
    std::unique_ptr<const Table> table;
    const Node* next = nullptr;
  };

  std::atomic<const Node*> first_{nullptr};  ///< published by whoever adds, read by all
};

}  // namespace rowan
