// SPDX-License-Identifier: GPL-2.0-only
// Making room in a tree: cleaning a leaf (entries and parts of values that are not needed),
// splitting nodes, growing the root. Each step is one mini-transaction that leaves the tree whole;
// a full parent is split in an earlier step.
//
// Latches of a split: parent, node, bitmap page, new right node. The parent is latched from its
// optimistic version; the child then cannot move, so waiting for it is safe.
#include <array>

#include "base/assertions.h"
#include "base/counters.h"
#include "btree/descent.h"
#include "btree/node.h"
#include "btree/node_edit.h"
#include "btree/node_log.h"
#include "btree/node_split.h"
#include "btree/tree.h"
#include "btree/tree_internal.h"

namespace rowan {
namespace {

/// The shares of a leaf's entries that shortening must affect and of its page that it must free. It
/// costs as much as a compaction, and if it freed less the leaf would soon be full again.
constexpr size_t kShortenEntriesShare = 3;
constexpr size_t kShortenBytesShare = 32;
/// One value in this many is examined first: many leaves are full of short ones.
constexpr size_t kSampleStep = 16;

/// A split logs the right node, the left node's bounds, a separator and bitmap bits.
uint32_t SplitLogBytes(uint32_t page_bytes) {
  return LoadRecordBytesMax(page_bytes) + 2 * static_cast<uint32_t>(NodeMaxKeyBytes(page_bytes)) +
         1024;
}
uint32_t GrowLogBytes(uint32_t page_bytes) { return LoadRecordBytesMax(page_bytes) + 1024; }

std::array<std::byte, 4> ChildValue(PageNumber child) {
  std::array<std::byte, 4> value;
  StoreLe<uint32_t>(value.data(), child.value());
  return value;
}

bool ShorteningPays(const NodeView& leaf, size_t entries, const ValueCut& cut) {
  return entries * kShortenEntriesShare >= leaf.count() &&
         entries * cut.bytes * kShortenBytesShare >= leaf.page().size();
}

size_t EstimateLongValues(const NodeView& leaf, const ValueCut& cut) {
  size_t sampled = 0;
  for (size_t slot = kSampleStep / 2; slot < leaf.count(); slot += kSampleStep) {
    const Bytes value = leaf.Value(slot);
    sampled += !value.empty() && (static_cast<uint8_t>(value[0]) & cut.flags) != 0 ? 1 : 0;
  }
  return sampled * kSampleStep;
}

/// What values lose is neither seen nor counted: newest change and visibility map stay.
void ShortenWhereItPays(MiniTxn* mini_txn, const MutablePage& page, const LeafCleaner& cleaner) {
  const NodeView leaf = ViewOf(*mini_txn, page);
  const ValueCut& cut = cleaner.shortener->cut;
  const size_t estimate = EstimateLongValues(leaf, cut);
  if (!ShorteningPays(leaf, estimate + estimate / 2, cut)) return;
  SlotRuns runs;
  cleaner.shortener->find(cleaner.context, leaf, &runs);
  size_t entries = 0;
  for (const SlotRun& run : runs) entries += run.count;
  if (!ShorteningPays(leaf, entries, cut)) return;
  if (LogShortenValues(mini_txn, page, runs, cut)) {
    AddCounter(Counter::kEntriesShortened, entries);
  }
}

Status DropHighKey(MiniTxn* mini_txn, const MutablePage& page) {
  const NodeView node = ViewOf(*mini_txn, page);
  const KeyBuffer prefix(node.prefix().begin(), node.prefix().end());
  NodeBounds bounds = BoundsOf(node);
  bounds.high = {};
  bounds.prefix = prefix;
  LogReboundNode(mini_txn, page, node.count(), bounds);
  return Status::Ok();
}

}  // namespace

Status Tree::MakeRoom(Bytes key, size_t key_bytes, size_t value_bytes, const LeafCleaner& cleaner,
                      PageUse use) {
  const uint32_t page_bytes = pool()->page_size_bytes();
  if (key_bytes > MaxKeyBytes(page_bytes) || key_bytes + value_bytes > MaxEntryBytes(page_bytes)) {
    return Status(Code::kTooBig, "entry larger than the page size permits");
  }
  ReserveNodeScratch();
  const EntrySize size{key_bytes, value_bytes};
  for (;;) {
    bool fits = false;
    Status status = CleanLeaf(key, size, cleaner, &fits);
    if (!status.ok() || fits) return status;
    status = SplitAt(key, size, 0, use);
    if (status.Is(Code::kRestart)) AddCounter(Counter::kTreeRestarts);
    if (!status.ok() && !status.Is(Code::kRestart)) return status;
  }
}

bool Tree::FitsAt(const NodeView& leaf, Bytes key, const EntrySize& size) const {
  const SlotSearch found = SearchNode(leaf.page(), key);
  if (found.exact && NodeHasRoomToReplace(leaf, found.slot, size.value_bytes)) return true;
  const size_t prefix = leaf.prefix_length();
  return NodeHasRoom(leaf, size.key_bytes - std::min(prefix, size.key_bytes), size.value_bytes);
}

Status Tree::CleanLeaf(Bytes key, const EntrySize& size, const LeafCleaner& cleaner, bool* fits) {
  MiniTxn mini_txn(pool());
  Status status = mini_txn.Start(pool()->page_size_bytes());
  if (!status.ok()) return status;
  LeafPosition position;
  status = FindForWrite(&mini_txn, key, &position);
  if (!status.ok()) return status;
  const NodeView leaf = ViewOf(mini_txn, position.leaf);
  *fits = FitsAt(leaf, key, size);
  if (*fits) return Status::Ok();
  if (cleaner.is_garbage != nullptr) RemoveGarbage(&mini_txn, position.leaf, cleaner);
  if (cleaner.shortener != nullptr) ShortenWhereItPays(&mini_txn, position.leaf, cleaner);
  if (!mini_txn.has_changes()) return Status::Ok();
  *fits = FitsAt(leaf, key, size);
  mini_txn.Commit();
  return Status::Ok();
}

void Tree::RemoveGarbage(MiniTxn* mini_txn, const MutablePage& page, const LeafCleaner& cleaner) {
  const LeafWord word = leaf_map_.Get(page.id.page);
  if (word.known() && word.clean()) return;
  const NodeView leaf = ViewOf(*mini_txn, page);
  std::vector<uint16_t> garbage;
  KeyBuffer entry_key;
  for (size_t slot = 0; slot < leaf.count(); ++slot) {
    if (!IsMarked(leaf.Value(slot))) continue;
    AssembleKey(leaf, slot, &entry_key);
    if (cleaner.is_garbage(cleaner.context, entry_key, leaf.Value(slot))) {
      garbage.push_back(static_cast<uint16_t>(slot));
    }
  }
  if (garbage.empty()) return;
  LogRemoveEntries(mini_txn, page, garbage);
  NoteLeaf(page.id.page, leaf);
}

struct Tree::NodePair {
  MutablePage parent;
  MutablePage node;
  uint16_t index = 0;  ///< of the node among the parent's children
};

Status Tree::SplitAt(Bytes key, const EntrySize& size, uint8_t level, PageUse use) {
  const uint32_t page_bytes = pool()->page_size_bytes();
  Result<PageReservation> reservation = allocator_->Reserve(space_, 1, use);
  if (!reservation.ok()) return reservation.status();
  MiniTxn mini_txn(pool());
  Status status = mini_txn.Start(std::max(SplitLogBytes(page_bytes), GrowLogBytes(page_bytes)));
  if (!status.ok()) return status;
  Descent descent(*this);
  OptimisticPage parent;
  OptimisticPage node;
  ChildChoice choice;
  status = descent.ToLevel(key, level, &parent, &node, &choice);
  if (status.Is(Code::kNotFound)) {
    if (descent.root_level() < level) return Status(Code::kRestart);
    return GrowRoot(&mini_txn, &*reservation, level);
  }
  if (!status.ok()) return status;
  if (!parent.frame->latch.TryUpgradeFromOptimistic(parent.version)) return Status(Code::kRestart);
  NodePair pair;
  pair.parent = AdoptLatched(&mini_txn, parent);
  pair.index = choice.index;
  Result<MutablePage> latched = LatchAgain(&mini_txn, node, choice.child);
  if (!latched.ok()) return latched.status();
  pair.node = *latched;
  status = SplitUnder(&mini_txn, &*reservation, pair, key, size);
  if (mini_txn.has_changes()) mini_txn.Commit();
  if (!status.Is(Code::kNoRoom)) return status;
  // The parent comes first; the caller then starts over.
  mini_txn.Abandon();
  *reservation = PageReservation();
  return SplitAt(key, {}, static_cast<uint8_t>(level + 1), use);
}

Result<MutablePage> Tree::LatchAgain(MiniTxn* mini_txn, const OptimisticPage& page,
                                     PageNumber number) const {
  // The frame may have been given to another page; its latch is valid forever, but that page's
  // holder may wait for what we hold.
  if (!page.frame->latch.LockExclusiveWhile(page.frame->page_id, Id(number).Packed())) {
    return Status(Code::kRestart);
  }
  PageGuard guard(page.frame, const_cast<std::byte*>(page.page), LatchMode::kExclusive);
  if (guard.id() != Id(number)) return Status(Code::kRestart);
  return mini_txn->Adopt(std::move(guard));
}

/// kNoRoom: the parent has no room for the separator; nothing was changed.
Status Tree::SplitUnder(MiniTxn* mini_txn, PageReservation* reservation, const NodePair& pair,
                        Bytes key, const EntrySize& size) {
  const NodeView node = ViewOf(*mini_txn, pair.node);
  const NodeView parent = ViewOf(*mini_txn, pair.parent);
  ROWAN_DCHECK(parent.HeaderIsSane() && pair.index < parent.ChildCount());
  ROWAN_DCHECK(parent.Child(pair.index) == pair.node.id.page);
  if (!node.HeaderIsSane() || node.level() + 1 != parent.level()) {
    return ReportDamage(pair.node.id.page, "it is not the node its parent says");
  }
  // Another session may have made room. Half a page takes any separator.
  const bool has_room =
      node.is_leaf() ? FitsAt(node, key, size) : node.TotalFree() >= node.page().size() / 2;
  if (has_room) return Status::Ok();
  if (node.is_leaf() && node.has_high_key() && node.count() < kEntriesBeforeHighKey) {
    // Two of the largest entries fit only without it.
    return DropHighKey(mini_txn, pair.node);
  }
  if (node.count() < 2) {  // the limits of keys and entries exclude it
    return ReportDamage(pair.node.id.page, "it is full with fewer than two entries");
  }
  KeyBuffer lower;
  if (pair.index > 0) AssembleKey(parent, pair.index - 1u, &lower);
  SplitPlan plan = PlanSplit(node, key, size.value_bytes);
  ROWAN_DCHECK(plan.slot <= node.count() && !plan.separator.empty());
  ROWAN_DCHECK(CompareBytes(lower, plan.separator) < 0);
  SplitBounds bounds = BoundsAfterSplit(node, lower, plan.separator, kNoPage);
  if (!FitsAfterSplitOrWithoutHighKey(node, plan.slot, &bounds.left)) {
    plan = PlanMiddleSplit(node);
    bounds = BoundsAfterSplit(node, lower, plan.separator, kNoPage);
  }
  ROWAN_DCHECK(plan.separator.size() >= parent.prefix_length());
  const Bytes separator = Bytes(plan.separator).subspan(parent.prefix_length());
  if (!NodeHasRoom(parent, separator.size(), 4)) return Status(Code::kNoRoom);

  Result<MutablePage> taken = allocator_->AllocateNew(mini_txn, reservation, pair.node.id.page);
  if (!taken.ok()) return taken.status();
  const MutablePage right = *taken;
  ROWAN_DCHECK(right.id.page != pair.node.id.page && right.id.page != pair.parent.id.page);
  NodeBuilder::Shape shape{right.id, index_, node.level(), kNoPage, node.newest_change()};
  size_t first = plan.slot;
  if (!node.is_leaf()) {
    shape.first_child = node.Child(plan.slot + 1);
    ++first;  // the separator itself moves up
  }
  const MutableBytes image = NodeScratch(Scratch::kCaller, pool()->page_size_bytes());
  NodeBuilder builder(image, shape, bounds.right);
  ROWAN_CHECK(builder.AppendFrom(node, first, node.count()));
  LogLoadNode(mini_txn, right, image);
  if (node.is_leaf()) bounds.left.right = right.id.page;
  LogReboundNode(mini_txn, pair.node, plan.slot, bounds.left);
  LogInsertEntry(mini_txn, pair.parent, pair.index, separator, ChildValue(right.id.page), kNoTxn);
  if (node.is_leaf()) {
    NoteLeaf(pair.node.id.page, node);
    NoteLeaf(right.id.page, ViewOf(*mini_txn, right));
  }
  AddCounter(Counter::kTreeSplits);
  return Status::Ok();
}

/// Moves the root's content one level down: the root page never moves.
Status Tree::GrowRoot(MiniTxn* mini_txn, PageReservation* reservation, uint8_t level) {
  Result<MutablePage> fixed = mini_txn->Fix(Id(root_));
  if (!fixed.ok()) return fixed.status();
  const MutablePage root = *fixed;
  const NodeView node = ViewOf(*mini_txn, root);
  if (node.level() != level) return Status(Code::kRestart);
  if (level + 1 >= kLevelsMax) return Status(Code::kTooBig, "tree too high");
  Result<MutablePage> taken = allocator_->AllocateNew(mini_txn, reservation, root_);
  if (!taken.ok()) {
    if (mini_txn->has_changes()) mini_txn->Commit();
    return taken.status();
  }
  const MutablePage child = *taken;
  NodeBounds whole;
  whole.rightmost = true;
  const MutableBytes image = NodeScratch(Scratch::kCaller, pool()->page_size_bytes());
  {
    NodeBuilder builder(image, {child.id, index_, level, node.first_child(), node.newest_change()},
                        whole);
    ROWAN_CHECK(builder.AppendFrom(node, 0, node.count()));
    LogLoadNode(mini_txn, child, image);
    if (level == 0) NoteLeaf(child.id.page, ViewOf(*mini_txn, child));
  }
  NodeBuilder top(image, {root.id, index_, static_cast<uint8_t>(level + 1), child.id.page, kNoTxn},
                  whole);
  LogLoadNode(mini_txn, root, image);
  mini_txn->Commit();
  return Status::Ok();
}

}  // namespace rowan
