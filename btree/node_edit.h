// SPDX-License-Identifier: GPL-2.0-only
// Changes of one node. Each function depends only on the page's bytes and its arguments: redo calls
// the same ones and gets the same bytes. None of them logs or latches.
//
// REQUIRES everywhere: the page is held exclusively and NodeView::HeaderIsSane. A function that
// returns false found no room and left the page usable; after a call of NodeHasRoom only a damaged
// page can cause that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "base/ids.h"
#include "btree/node.h"
#include "btree/value_cut.h"

namespace rowan {

/// Makes the page an empty right-most node.
void InitNode(MutableBytes page, PageId id, IndexId index, uint8_t level);

[[nodiscard]] inline bool NodeHasRoom(const NodeView& node, size_t suffix_bytes,
                                      size_t value_bytes) {
  return node.TotalFree() >= node.EntryBytes(suffix_bytes, value_bytes);
}
/// Whether another value at `slot` fits.
[[nodiscard]] inline bool NodeHasRoomToReplace(const NodeView& node, size_t slot,
                                               size_t value_bytes) {
  return node.TotalFree() + node.Value(slot).size() >= value_bytes;
}

/// Inserts an entry at `slot`. Inner nodes: `value` is the child number.
/// `stamp` raises the newest change. REQUIRES: slot <= count; suffix without the node's prefix.
[[nodiscard]] bool InsertEntry(MutableBytes page, size_t slot, Bytes suffix, Bytes value,
                               TxnId stamp);
/// Replaces a leaf's value. `value` may not point into the page.
[[nodiscard]] bool ReplaceValue(MutableBytes page, size_t slot, Bytes value, TxnId stamp);
void RemoveEntry(MutableBytes page, size_t slot);
/// Removes the entries at ascending `slots` and compacts.
void RemoveEntries(MutableBytes page, std::span<const uint16_t> slots);
/// Cuts `cut` out of the values at ascending `runs` and compacts. False if a value is too short for
/// it: the page is unchanged.
[[nodiscard]] bool ShortenValues(MutableBytes page, std::span<const SlotRun> runs,
                                 const ValueCut& cut);
/// Moves the records together; the order of slots is unchanged.
void CompactNode(MutableBytes page);

/// Upper bound, prefix and links of a node.
struct NodeBounds {
  Bytes high;    ///< empty: right-most, or too long to be stored
  Bytes prefix;  ///< of all keys between lower and upper bound
  bool rightmost = false;
  PageNumber right;
};

/// The current bounds of a node; points into the node.
[[nodiscard]] NodeBounds BoundsOf(const NodeView& node);

/// Keeps the first `keep` entries and gives the node other bounds. False if it would then not fit
/// (a shorter prefix makes longer suffixes); the page is then unchanged.
[[nodiscard]] bool ReboundNode(MutableBytes page, size_t keep, const NodeBounds& bounds);

/// Builds the image of a node from keys in ascending order. The target must not be the buffer that
/// the keys are in.
class NodeBuilder {
 public:
  struct Shape {
    PageId id;
    IndexId index;
    uint8_t level = 0;
    PageNumber first_child;
    TxnId newest_change;
  };

  /// `target`: as large as a page; overwritten completely.
  NodeBuilder(MutableBytes target, const Shape& shape, const NodeBounds& bounds);
  /// The key in two parts (a source node's prefix and suffix). False: no room, or the key does not
  /// start with the node's prefix.
  [[nodiscard]] bool Append(Bytes key_head, Bytes key_tail, Bytes value);
  /// All entries [first, last) of a node.
  [[nodiscard]] bool AppendFrom(const NodeView& source, size_t first, size_t last);
  /// The same for a leaf with our prefix, without the piece cut out of each value. Also false if a
  /// value is too short for the cut.
  [[nodiscard]] bool AppendShortened(const NodeView& source, size_t first, size_t last,
                                     const ValueCut& cut);
  [[nodiscard]] size_t used_bytes() const { return page_.size() - NodeView(page_).TotalFree(); }

 private:
  bool CopyFrom(const NodeView& source, size_t first, size_t last, const ValueCut* cut);

  MutableBytes page_;
  size_t prefix_bytes_;
};

/// Per-thread buffers of page size, one for each purpose so that nesting is safe.
enum class Scratch : size_t {
  kImage,   ///< rebuilding a node in place; used inside node_edit
  kJoin,    ///< a suffix from two parts; used inside node_edit
  kSuffix,  ///< a suffix while its record moves; used inside node_edit
  kCaller,  ///< images and values made by tree and redo code
  kCount
};
MutableBytes NodeScratch(Scratch which, size_t page_size_bytes);
/// After this, NodeScratch allocates nothing in this thread. Call before nodes are changed.
void ReserveNodeScratch();
/// Replaces everything after the page header (and the flags) by that of `image`.
void AssignNode(MutableBytes page, Bytes image);

}  // namespace rowan
