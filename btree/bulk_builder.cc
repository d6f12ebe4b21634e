// SPDX-License-Identifier: GPL-2.0-only
#include "btree/bulk_builder.h"

#include <algorithm>
#include <array>

#include "base/assertions.h"
#include "btree/node_log.h"

namespace rowan {
namespace {

/// Leaves keep a sixteenth free for later inserts.
constexpr size_t FillBytes(size_t page_bytes) { return page_bytes / 16 * 15; }

}  // namespace

Bytes BulkBuilder::Level::Key(size_t i) const {
  return {heap.data() + entries[i].offset, entries[i].key_bytes};
}

Bytes BulkBuilder::Level::Value(size_t i) const {
  return {heap.data() + entries[i].offset + entries[i].key_bytes, entries[i].value_bytes};
}

void BulkBuilder::Level::Push(Bytes key, Bytes value, size_t record_header) {
  entries.push_back(
      {heap.size(), static_cast<uint32_t>(key.size()), static_cast<uint32_t>(value.size())});
  heap.insert(heap.end(), key.begin(), key.end());
  heap.insert(heap.end(), value.begin(), value.end());
  body_bytes += node_layout::kSlotBytes + record_header + key.size() +
                (record_header == node_layout::kLeafRecordHeader ? value.size() : 0);
}

void BulkBuilder::Level::Pop(size_t record_header) {
  body_bytes -= node_layout::kSlotBytes + record_header + entries.back().key_bytes;
  heap.resize(entries.back().offset);
  entries.pop_back();
}

void BulkBuilder::Level::Begin(PageNumber number, PageNumber child, Bytes lower_bound) {
  page = number;
  lower.assign(lower_bound.begin(), lower_bound.end());
  first_child = child;
  entries.clear();
  heap.clear();
  body_bytes = 0;
  newest_change = kNoTxn;
}

size_t BulkBuilder::Level::BytesWith(size_t prefix, size_t fence, size_t extra) const {
  return node_layout::kSlots + std::max(prefix, fence) + body_bytes - entries.size() * prefix +
         extra;
}

bool BulkBuilder::Fits(const Level& node, Bytes upper) const {
  const size_t fence = upper.size() <= kHighKeyBytesMax ? upper.size() : 0;
  return node.BytesWith(CommonPrefix(node.lower, upper), fence, 0) <= page_bytes();
}

Result<PageNumber> BulkBuilder::NewPage(PageNumber near, size_t level) {
  PageAllocator* allocator = tree_->allocator();
  Result<PageReservation> reservation = allocator->Reserve(tree_->space(), 1);
  if (!reservation.ok()) return reservation.status();
  MiniTxn mini_txn(tree_->pool());
  Status status = mini_txn.Start(256);
  if (!status.ok()) return status;
  Result<MutablePage> page = allocator->AllocateNew(&mini_txn, &*reservation, near);
  if (page.ok()) LogInitNode(&mini_txn, *page, tree_->index(), static_cast<uint8_t>(level));
  if (mini_txn.has_changes()) mini_txn.Commit();
  if (!page.ok()) return page.status();
  return page->id.page;
}

bool BulkBuilder::Overflows(const Level& node, bool leaf, Bytes key, size_t entry_bytes) const {
  if (node.entries.empty()) return false;
  const size_t prefix = CommonPrefix(node.lower, key);
  // Two large rows share a leaf, however full that makes it.
  if (leaf && node.entries.size() < kEntriesBeforeHighKey) {
    return node.BytesWith(prefix, 0, entry_bytes - prefix) > page_bytes();
  }
  const size_t fence = std::min(key.size() + 1, kHighKeyBytesMax);
  return node.BytesWith(prefix, fence, entry_bytes - prefix) > FillBytes(page_bytes());
}

Status BulkBuilder::AddTo(size_t level, Bytes key, Bytes value, TxnId stamp) {
  const size_t header =
      level == 0 ? node_layout::kLeafRecordHeader : node_layout::kInnerRecordHeader;
  const size_t entry_bytes =
      node_layout::kSlotBytes + header + key.size() + (level == 0 ? value.size() : 0);
  Level& node = levels_[level];
  if (Overflows(node, level == 0, key, entry_bytes)) {
    if (level > 0 && Fits(node, key)) {
      // The separator moves up, and its child begins the next node.
      return CloseAt(level, key, PageNumber(LoadLe<uint32_t>(value.data())));
    }
    const Status status = level == 0 ? CloseLeafBefore(key) : CloseInnerAtLast(level);
    if (!status.ok()) return status;
  }
  node.Push(key, value, header);
  node.newest_change = std::max(node.newest_change, stamp);
  return Status::Ok();
}

Status BulkBuilder::CloseLeafBefore(Bytes next_key) {
  const Level& leaf = levels_[0];
  KeyBuffer upper;
  ShortestSeparator(leaf.Key(leaf.entries.size() - 1), next_key, &upper);
  const bool closes = Fits(leaf, upper) || leaf.entries.size() <= kEntriesBeforeHighKey;
  return closes ? CloseAt(0, upper, kNoPage) : CloseLeafAtEnd();
}

Status BulkBuilder::CloseLeafAtEnd() {
  const Bytes last = levels_[0].Key(levels_[0].entries.size() - 1);
  KeyBuffer upper(last.begin(), last.end());
  upper.push_back(std::byte{0});
  return CloseAt(0, upper, kNoPage);
}

Status BulkBuilder::CloseInnerAtLast(size_t level) {
  Level& node = levels_[level];
  const size_t last = node.entries.size() - 1;
  const Bytes key = node.Key(last);
  const KeyBuffer upper(key.begin(), key.end());
  const PageNumber child(LoadLe<uint32_t>(node.Value(last).data()));
  node.Pop(node_layout::kInnerRecordHeader);
  return CloseAt(level, upper, child);
}

Status BulkBuilder::CloseAt(size_t level, Bytes upper, PageNumber next_first_child) {
  Level& node = levels_[level];
  if (node.page == kNoPage) {
    // The level's first node is not its only one: it gets a page and a parent.
    Result<PageNumber> own = NewPage(tree_->root(), level);
    if (!own.ok()) return own.status();
    node.page = *own;
    levels_.emplace_back().first_child = *own;
  }
  Result<PageNumber> next = NewPage(node.page, level);
  if (!next.ok()) return next.status();
  NodeBounds bounds;
  if (level > 0 || Fits(node, upper)) bounds.high = upper;
  bounds.prefix = upper.first(CommonPrefix(node.lower, upper));
  if (level == 0) bounds.right = *next;
  const Status status = Write(level, bounds, false);
  if (!status.ok()) return status;
  const KeyBuffer separator(upper.begin(), upper.end());
  node.Begin(*next, next_first_child, separator);
  std::array<std::byte, 4> child;
  StoreLe<uint32_t>(child.data(), next->value());
  return AddTo(level + 1, separator, child, kNoTxn);
}

Status BulkBuilder::FinishLevel(size_t level) {
  if (levels_[level].BytesWith(0, 0, 0) > page_bytes()) {
    const Status status = level == 0 ? CloseLeafAtEnd() : CloseInnerAtLast(level);
    if (!status.ok()) return status;
  }
  NodeBounds whole;
  whole.rightmost = true;
  return Write(level, whole, level + 1 == levels_.size());
}

Status BulkBuilder::Write(size_t level, const NodeBounds& bounds, bool as_root) {
  const Level& node = levels_[level];
  const PageId id{tree_->space(), as_root ? tree_->root() : node.page};
  const MutableBytes image = NodeScratch(Scratch::kCaller, page_bytes());
  NodeBuilder builder(image,
                      {id, tree_->index(), static_cast<uint8_t>(level), node.first_child,
                       level == 0 ? node.newest_change : kNoTxn},
                      bounds);
  for (size_t i = 0; i < node.entries.size(); ++i) {
    ROWAN_CHECK(builder.Append(node.Key(i), {}, node.Value(i)));
  }
  MiniTxn mini_txn(tree_->pool());
  const Status status =
      mini_txn.Start(LoadRecordBytesMax(static_cast<uint32_t>(page_bytes())) + 64);
  if (!status.ok()) return status;
  Result<MutablePage> page = mini_txn.Fix(id);
  if (!page.ok()) return page.status();
  LogLoadNode(&mini_txn, *page, image);
  if (level == 0) tree_->NoteLeaf(id.page, ViewOf(mini_txn, *page));
  mini_txn.Commit();
  return Status::Ok();
}

Status BulkBuilder::Add(Bytes key, Bytes value, TxnId stamp) {
  const uint32_t page_size = tree_->pool()->page_size_bytes();
  if (key.size() > Tree::MaxKeyBytes(page_size) ||
      key.size() + value.size() > Tree::MaxEntryBytes(page_size)) {
    return Status(Code::kTooBig, "entry larger than the page size permits");
  }
  if (any_ && CompareBytes(last_key_, key) >= 0) {
    return Status(Code::kInvalidArgument, "keys of a bulk build must ascend");
  }
  if (!any_) {
    levels_.emplace_back();
    any_ = true;
  }
  const Status status = AddTo(0, key, value, stamp);
  last_key_.assign(key.begin(), key.end());
  return status;
}

Status BulkBuilder::Finish() {
  for (size_t level = 0; level < levels_.size(); ++level) {
    const Status status = FinishLevel(level);
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

}  // namespace rowan
