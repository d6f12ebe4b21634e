// SPDX-License-Identifier: GPL-2.0-only
// Search inside a node: prefix, then heads, then bytes. Everything here may run on a page that is
// not held: offsets and lengths are clamped to the page, and the caller validates the page's
// version before it trusts the answer. These are the only racy reads of node bytes (TSan-exempt).
// Thread safety: pure functions of page bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"

namespace rowan {

/// The leaf that a descent looks for.
enum class Aim : uint8_t {
  kOwner,   ///< the leaf whose bounds contain the key
  kBefore,  ///< the leaf that would contain the largest keys below the key
  kFirst,
  kLast,
};

struct SlotSearch {
  uint16_t slot = 0;   ///< first slot whose key is >= the key searched for; count if none
  bool exact = false;  ///< that slot's key is equal
};

/// Lower bound in a leaf or inner node.
SlotSearch SearchNode(Bytes page, Bytes key);
/// The same from slot `from` on: quick when the key's place is there. REQUIRES: the keys before it
/// are below `key`.
SlotSearch SearchNodeFrom(Bytes page, uint16_t from, Bytes key);

/// The result of one search of an inner node.
struct ChildChoice {
  PageNumber child;
  uint16_t index = 0;     ///< of the child: 0 = first child, i = that of separator i - 1
  uint16_t children = 0;  ///< how many the node has
  uint8_t level = 0;      ///< of the node; 0: it is a leaf and no other field is valid
  bool is_node = false;   ///< the page is a tree node of the given index
};
ChildChoice UnlatchedChooseChild(Bytes page, IndexId index, Aim aim, Bytes key);
/// The child that owns a key, of what is known to be an inner node.
struct OwnerChild {
  PageNumber child;
  uint16_t index = 0;
  bool between = false;  ///< two separators prove that the key is the node's
};
OwnerChild UnlatchedOwner(Bytes page, Bytes key);
/// Child number `child_index` (clamped) instead of a search. For sampling.
ChildChoice UnlatchedChild(Bytes page, IndexId index, uint64_t child_index);

/// Copies the separator at `slot` (prefix and suffix) into `key`.
void UnlatchedCopyKey(Bytes page, uint16_t slot, std::vector<std::byte>* key);

/// How much of a leaf is below a key.
struct LeafRank {
  PageNumber right;
  size_t entries = 0;
  size_t below = 0;      ///< entries with smaller keys
  bool reaches = false;  ///< no leaf to the right has such entries
  bool is_leaf = false;  ///< of the index; else no other field is valid
};
/// `from`: the keys of the slots before it are below `key`. No key: all are.
LeafRank UnlatchedRank(Bytes page, IndexId index, uint16_t from, Bytes key);

/// Where an entry is in a leaf.
struct LeafEntry {
  bool is_leaf = false;  ///< of the index; else no other field is valid
  bool exists = false;
  bool within = false;  ///< the key certainly lies within the leaf's bounds
  Bytes value{};        ///< of the entry, if it exists; empty: damage
};
LeafEntry UnlatchedFind(Bytes page, IndexId index, Bytes key);
/// Copies such a value.
void UnlatchedCopy(Bytes value, std::byte* target);

/// Bytes in use in a node (header, slots, records, fence) and its entries.
struct NodeUse {
  size_t used_bytes = 0;
  size_t count = 0;
};
NodeUse UnlatchedUse(Bytes page);

/// True if `key` certainly lies within the inner node's bounds according to its own separators: at
/// or above the first one, and below the last one or the stored high key.
bool UnlatchedCovers(Bytes page, Bytes key);
/// The same for a leaf of the index, without a search.
bool UnlatchedOwns(Bytes page, IndexId index, Bytes key);

}  // namespace rowan
