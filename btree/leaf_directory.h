// SPDX-License-Identifier: GPL-2.0-only
// LeafDirectory: the leaves of a damaged tree in key order, found by reading every page of its
// file. A Cursor that has one bypasses unreadable pages, inner ones as well as leaves
// (Cursor::SetDetour), so that the contents of the other leaves can be saved.
//
// It shows the tree as of its construction; the tree must not change while it is in use. If the
// space's bitmap can be read, pages that it marks as free are left out: they may once have been
// leaves.
// Thread safety: constant once built.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/function_ref.h"
#include "base/ids.h"
#include "base/status.h"
#include "btree/tree.h"

namespace rowan {

class LeafDirectory {
 public:
  struct Leaf {
    std::string first_key;
    PageNumber page{0};
  };

  /// Reads the whole file. kInterrupted; kNotFound: the space is not live.
  static Result<std::shared_ptr<const LeafDirectory>> Build(Tree* tree,
                                                            FunctionRef<bool()> interrupted);

  /// The leaf that owns the key, or the first leaf; null: there is none.
  [[nodiscard]] const Leaf* OwnerOf(Bytes key) const;
  /// The next leaf whose first key is above the key; null: none.
  [[nodiscard]] const Leaf* After(Bytes key) const;
  /// The last leaf whose first key is below the key; null: none.
  [[nodiscard]] const Leaf* Before(Bytes key) const;
  [[nodiscard]] const Leaf* First() const { return leaves_.empty() ? nullptr : &leaves_.front(); }
  [[nodiscard]] const Leaf* Last() const { return leaves_.empty() ? nullptr : &leaves_.back(); }

  /// Pages of the file, of any index, that are in use and cannot be read; ascending.
  [[nodiscard]] const std::vector<PageNumber>& unreadable() const { return unreadable_; }

 private:
  LeafDirectory() = default;
  void Look(Tree* tree, PageNumber page);
  void Sort();

  std::vector<Leaf> leaves_;
  std::vector<PageNumber> unreadable_;
};

}  // namespace rowan
