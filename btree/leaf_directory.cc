// SPDX-License-Identifier: GPL-2.0-only
#include "btree/leaf_directory.h"

#include <algorithm>

#include "btree/descent.h"
#include "btree/node.h"
#include "btree/node_search.h"
#include "btree/node_split.h"
#include "io/space_files.h"

namespace rowan {
namespace {

/// Page 0 is the space's header.
constexpr uint32_t kFirstTreePage = 1;
/// Pages read between two checks of the interruption.
constexpr uint32_t kPagesBetweenSigns = 256;

}  // namespace

Result<std::shared_ptr<const LeafDirectory>> LeafDirectory::Build(Tree* tree,
                                                                  FunctionRef<bool()> interrupted) {
  const Result<uint32_t> pages = tree->pool()->files()->PageCount(tree->space());
  if (!pages.ok()) return pages.status();
  std::shared_ptr<LeafDirectory> directory(new LeafDirectory);
  for (uint32_t page = kFirstTreePage; page < pages.value(); ++page) {
    if (page % kPagesBetweenSigns == 0 && interrupted()) return Status(Code::kInterrupted);
    directory->Look(tree, PageNumber(page));
  }
  directory->Sort();
  return std::shared_ptr<const LeafDirectory>(std::move(directory));
}

void LeafDirectory::Look(Tree* tree, PageNumber page) {
  const PageId id{tree->space(), page};
  const Result<bool> allocated = tree->allocator()->IsAllocated(id);
  if (allocated.ok() && !allocated.value()) return;
  Result<PageGuard> guard = tree->pool()->Fix(id, LatchMode::kShared, FixHint::kSpeculativeScan);
  if (!guard.ok()) {
    unreadable_.push_back(page);
    return;
  }
  const Bytes bytes{guard->page(), tree->pool()->page_size_bytes()};
  if (!IsLeafOf(bytes, tree->index())) return;
  const NodeView leaf(bytes);
  if (leaf.count() == 0) return;
  std::vector<std::byte> key;
  AssembleKey(leaf, 0, &key);
  leaves_.push_back({std::string(reinterpret_cast<const char*>(key.data()), key.size()), page});
}

void LeafDirectory::Sort() {
  std::sort(leaves_.begin(), leaves_.end(), [](const Leaf& a, const Leaf& b) {
    return CompareBytes(AsBytes(a.first_key), AsBytes(b.first_key)) < 0;
  });
}

const LeafDirectory::Leaf* LeafDirectory::OwnerOf(Bytes key) const {
  const auto next =
      std::upper_bound(leaves_.begin(), leaves_.end(), key, [](Bytes wanted, const Leaf& leaf) {
        return CompareBytes(wanted, AsBytes(leaf.first_key)) < 0;
      });
  if (next == leaves_.begin()) return First();
  return &*std::prev(next);
}

const LeafDirectory::Leaf* LeafDirectory::After(Bytes key) const {
  const auto next =
      std::upper_bound(leaves_.begin(), leaves_.end(), key, [](Bytes wanted, const Leaf& leaf) {
        return CompareBytes(wanted, AsBytes(leaf.first_key)) < 0;
      });
  return next == leaves_.end() ? nullptr : &*next;
}

const LeafDirectory::Leaf* LeafDirectory::Before(Bytes key) const {
  const auto next =
      std::lower_bound(leaves_.begin(), leaves_.end(), key, [](const Leaf& leaf, Bytes wanted) {
        return CompareBytes(AsBytes(leaf.first_key), wanted) < 0;
      });
  return next == leaves_.begin() ? nullptr : &*std::prev(next);
}

}  // namespace rowan
