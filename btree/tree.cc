// SPDX-License-Identifier: GPL-2.0-only
// The tree's changes of single entries. For structure changes see tree_split.cc and tree_merge.cc.
#include "btree/tree.h"

#include "base/assertions.h"
#include "btree/descent.h"
#include "btree/node.h"
#include "btree/node_log.h"
#include "btree/node_search.h"

namespace rowan {

Tree::Tree(PageAllocator* allocator, SpaceId space, PageNumber root, IndexId index)
    : allocator_(allocator),
      space_(space),
      root_(root),
      index_(index),
      leaf_map_(allocator->pool()->map_memory()) {}

Result<PageNumber> Tree::Create(PageAllocator* allocator, SpaceId space, IndexId index) {
  Result<PageReservation> reservation = allocator->Reserve(space, 1);
  if (!reservation.ok()) return reservation.status();
  MiniTxn mini_txn(allocator->pool());
  const Status started = mini_txn.Start(256);
  if (!started.ok()) return started;
  Result<MutablePage> root = allocator->AllocateNew(&mini_txn, &*reservation, kNoPage);
  if (root.ok()) LogInitNode(&mini_txn, *root, index, 0);
  if (mini_txn.has_changes()) mini_txn.Commit();
  if (!root.ok()) return root.status();
  return root->id.page;
}

size_t Tree::MaxKeyBytes(uint32_t page_size_bytes) { return NodeMaxKeyBytes(page_size_bytes); }
size_t Tree::MaxEntryBytes(uint32_t page_size_bytes) { return NodeMaxEntryBytes(page_size_bytes); }

bool Tree::TryPlace(MiniTxn* mini_txn, Bytes key, const EntryPlace& seen, LeafPosition* position) {
  if (seen.leaf.frame == nullptr) return false;
  const Bytes page(seen.leaf.page, pool()->page_size_bytes());
  const bool any_slot = seen.slot == EntryPlace::kAnySlot;
  // Unlatched: leaves to which the key does not belong are left alone.
  if (any_slot && !UnlatchedOwns(page, index_, key)) return false;
  PageGuard leaf = pool()->TryFixUnchanged(seen.leaf);
  // Temporary tables number their indexes on their own: an id alone may be another space's index.
  if (!leaf.held() || leaf.id().space != space_) return false;
  // Unchanged since then, so a leaf in its tree, and what was read of it is true. A leaf that has
  // the key owns it, too.
  if (!any_slot && !IsLeafOf(page, index_)) return false;
  const SlotSearch found = SearchNodeFrom(page, any_slot ? 0 : seen.slot, key);
  if (!any_slot && !found.exact) return false;
  position->leaf = mini_txn->Adopt(std::move(leaf));
  position->slot = found.slot;
  position->exact = found.exact;
  return true;
}

Status Tree::FindForWrite(MiniTxn* mini_txn, Bytes key, LeafPosition* position,
                          const EntryPlace& seen) {
  ROWAN_DCHECK(mini_txn->started());
  ReserveNodeScratch();
  if (TryPlace(mini_txn, key, seen, position)) return Status::Ok();
  Descent descent(*this);
  PageGuard leaf;
  const Status status = descent.ToLeaf({Aim::kOwner, key}, LatchMode::kExclusive, &leaf);
  if (!status.ok()) return status;
  position->leaf = mini_txn->Adopt(std::move(leaf));
  const SlotSearch found = SearchNode(PageBytesOf(*mini_txn, position->leaf), key);
  position->slot = found.slot;
  position->exact = found.exact;
  ROWAN_DCHECK(IsLeafOf(PageBytesOf(*mini_txn, position->leaf), index_));
  return Status::Ok();
}

bool Tree::InsertFits(const LeafPosition& position, size_t key_bytes, size_t value_bytes) const {
  const NodeView leaf({position.leaf.bytes, pool()->page_size_bytes()});
  ROWAN_DCHECK(key_bytes >= leaf.prefix_length());
  return NodeHasRoom(leaf, key_bytes - leaf.prefix_length(), value_bytes);
}

bool Tree::UpdateFits(const LeafPosition& position, size_t value_bytes) const {
  const NodeView leaf({position.leaf.bytes, pool()->page_size_bytes()});
  return NodeHasRoomToReplace(leaf, position.slot, value_bytes);
}

Status Tree::InsertAt(MiniTxn* mini_txn, const LeafPosition& position, Bytes key, Bytes value,
                      TxnId stamp) {
  ROWAN_CHECK(!position.exact);
  const Bytes page = PageBytesOf(*mini_txn, position.leaf);
  const auto page_bytes = static_cast<uint32_t>(page.size());
  if (key.size() > MaxKeyBytes(page_bytes) ||
      key.size() + value.size() > MaxEntryBytes(page_bytes)) {
    return Status(Code::kTooBig, "entry larger than the page size permits");
  }
  const NodeView leaf(page);
  ROWAN_CHECK(key.size() >= leaf.prefix_length());
  const Bytes suffix = key.subspan(leaf.prefix_length());
  ROWAN_DCHECK(EqualBytes(key.first(leaf.prefix_length()), leaf.prefix()));
  ROWAN_DCHECK(position.slot <= leaf.count());
  if (!NodeHasRoom(leaf, suffix.size(), value.size())) return Status(Code::kNoRoom);
  const auto place = static_cast<size_t>(InsertPlaceOf(leaf, position.slot));
  inserts_[place].fetch_add(1, std::memory_order_relaxed);
  LogInsertEntry(mini_txn, position.leaf, position.slot, suffix, value, stamp);
  leaf_map_.Change(position.leaf.id.page, IsMarked(value) ? 0 : 1, leaf.count(), stamp);
  return Status::Ok();
}

Status Tree::UpdateAt(MiniTxn* mini_txn, const LeafPosition& position, Bytes value, TxnId stamp) {
  ROWAN_CHECK(position.exact);
  const Bytes page = PageBytesOf(*mini_txn, position.leaf);
  const NodeView leaf(page);
  ROWAN_DCHECK(position.slot < leaf.count());
  if (leaf.KeyLength(position.slot) + value.size() >
      MaxEntryBytes(static_cast<uint32_t>(page.size()))) {
    return Status(Code::kTooBig, "entry larger than the page size permits");
  }
  if (!NodeHasRoomToReplace(leaf, position.slot, value.size())) return Status(Code::kNoRoom);
  const int live_change = int{IsMarked(leaf.Value(position.slot))} - int{IsMarked(value)};
  LogReplaceValue(mini_txn, position.leaf, position.slot, value, stamp);
  leaf_map_.Change(position.leaf.id.page, live_change, leaf.count(), stamp);
  return Status::Ok();
}

InsertCounts Tree::insert_counts() const {
  InsertCounts result;
  for (size_t i = 0; i < inserts_.size(); ++i) {
    result.counts[i] = inserts_[i].load(std::memory_order_relaxed);
  }
  return result;
}

void Tree::RemoveAt(MiniTxn* mini_txn, const LeafPosition& position) {
  ROWAN_CHECK(position.exact);
  const NodeView leaf = ViewOf(*mini_txn, position.leaf);
  ROWAN_DCHECK(position.slot < leaf.count());
  const int live_change = IsMarked(leaf.Value(position.slot)) ? 0 : -1;
  LogRemoveEntry(mini_txn, position.leaf, position.slot);
  leaf_map_.Change(position.leaf.id.page, live_change, leaf.count(), kNoTxn);
}

Bytes Tree::ValueAt(const LeafPosition& position) const {
  return NodeView({position.leaf.bytes, pool()->page_size_bytes()}).Value(position.slot);
}

size_t Tree::EntryCountAt(const LeafPosition& position) const {
  return NodeView({position.leaf.bytes, pool()->page_size_bytes()}).count();
}

}  // namespace rowan
