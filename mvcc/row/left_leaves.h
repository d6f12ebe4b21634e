// SPDX-License-Identifier: GPL-2.0-only
// LeftLeaves: the leaves that the last changes of a few indexes have left. The next change of such
// an index often belongs to the same leaf: rows that are inserted in order, an entry that is
// replaced by one nearby. Thread safety: one thread.
#pragma once

#include <array>

#include "base/ids.h"
#include "btree/tree.h"

namespace rowan {

class LeftLeaves {
 public:
  /// A hint: it may be a leaf of another index, or one that was freed with its index; as numbers of
  /// indexes are not used again within a space, neither is then taken for a leaf of this one.
  [[nodiscard]] const EntryPlace& Of(IndexId index) const {
    return places_[index.value() % kPlaces];
  }
  /// Within the mini-transaction that changes the leaf.
  void Note(IndexId index, const MiniTxn& mini_txn, const LeafPosition& position) {
    places_[index.value() % kPlaces] = Tree::PlaceAfter(mini_txn, position);
  }

 private:
  /// More indexes than most tables have; those of a table are numbered one after the other.
  static constexpr size_t kPlaces = 8;

  std::array<EntryPlace, kPlaces> places_{};
};

}  // namespace rowan
