// SPDX-License-Identifier: GPL-2.0-only
// BulkBuilder: bottom-up build of an empty tree from entries in ascending key order, logged as
// whole-node loads. Fills leaves left to right and passes (separator, page) upwards; every level
// has one node in progress. A node is written when the next entry would exceed its share of a page:
// only then are its upper bound and prefix known. The last node of the highest level becomes the
// root's content.
//
// Prefix: all keys of a node lie in [lower, upper), so its prefix is their common one. If the next
// key shares less with the lower bound than the node's own keys do, using it as the upper bound
// could make the node too large. Then a leaf ends at its last key's immediate successor instead,
// and an inner node gives up its last separator. The same happens at the end, where no upper bound
// means no prefix.
//
// A crash during the build leaves the root as it was, and the pages taken so far allocated but
// unreachable until the space is dropped.
// Thread safety: one thread; no other thread may use the tree.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/status.h"
#include "btree/node.h"
#include "btree/node_edit.h"
#include "btree/node_split.h"
#include "btree/tree.h"

namespace rowan {

class BulkBuilder {
 public:
  explicit BulkBuilder(Tree* tree) : tree_(tree) {}
  /// kInvalidArgument when keys do not ascend strictly.
  Status Add(Bytes key, Bytes value, TxnId stamp);
  Status Finish();

 private:
  struct Entry {
    size_t offset;
    uint32_t key_bytes;
    uint32_t value_bytes;
  };
  /// The node in progress of one level.
  struct Level {
    PageNumber page;         ///< none while the level has no other node
    PageNumber first_child;  ///< inner levels
    KeyBuffer lower;         ///< lower bound; empty for the first node of a level
    std::vector<Entry> entries;
    std::vector<std::byte> heap;
    size_t body_bytes = 0;  ///< records and slots with full keys
    TxnId newest_change;

    [[nodiscard]] Bytes Key(size_t i) const;
    [[nodiscard]] Bytes Value(size_t i) const;
    void Push(Bytes key, Bytes value, size_t record_header);
    void Pop(size_t record_header);
    void Begin(PageNumber number, PageNumber child, Bytes lower_bound);
    /// Page bytes of the entries plus one of `extra` bytes, with a prefix and a fence.
    [[nodiscard]] size_t BytesWith(size_t prefix, size_t fence, size_t extra) const;
  };

  [[nodiscard]] size_t page_bytes() const { return tree_->pool()->page_size_bytes(); }
  Status AddTo(size_t level, Bytes key, Bytes value, TxnId stamp);
  Status CloseLeafBefore(Bytes next_key);
  Status CloseLeafAtEnd();
  Status CloseInnerAtLast(size_t level);
  /// Writes a level's node with its upper bound, begins the next one there, and adds it to the
  /// parent.
  Status CloseAt(size_t level, Bytes upper, PageNumber next_first_child);
  /// The last node of a level has no upper bound and hence no prefix.
  Status FinishLevel(size_t level);
  Status Write(size_t level, const NodeBounds& bounds, bool as_root);
  /// Takes a page and makes it an empty node at once, so that it always has content.
  Result<PageNumber> NewPage(PageNumber near, size_t level);
  [[nodiscard]] bool Overflows(const Level& node, bool leaf, Bytes key, size_t entry_bytes) const;
  [[nodiscard]] bool Fits(const Level& node, Bytes upper) const;

  Tree* const tree_;
  std::deque<Level> levels_;  // references stay valid while levels are added
  KeyBuffer last_key_;
  bool any_ = false;
};

}  // namespace rowan
