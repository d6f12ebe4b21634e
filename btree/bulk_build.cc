// SPDX-License-Identifier: GPL-2.0-only
// BulkBuilder: fills leaves left to right and hands (separator, page) upwards; every level has one
// node in the making. A node is written when the next entry would take it over its share of a page:
// only then are its upper bound and prefix known. The last node of the highest level becomes the
// root's content.
//
// Prefix: all keys of a node lie in [lower, upper), so its prefix is their common one. When the
// next key shares less with the lower bound than the node's own keys do, that key as the upper
// bound could make the node too large. Then a leaf ends at its last key's immediate successor
// instead, and an inner node gives up its last separator. The same happens at the end, where no
// upper bound means no prefix.
//
// A crash in the middle leaves the root as it was, and the pages taken so far in use but
// unreachable until the space is dropped.
#include <algorithm>
#include <array>
#include <deque>

#include "base/assertions.h"
#include "btree/cursor.h"
#include "btree/node.h"
#include "btree/node_edit.h"
#include "btree/node_log.h"
#include "btree/node_split.h"

namespace rowan {
namespace {

/// Leaves keep a sixteenth free for later inserts.
constexpr size_t FillBytes(size_t page_bytes) { return page_bytes / 16 * 15; }

struct Entry {
  size_t offset;
  uint32_t key_bytes;
  uint32_t value_bytes;
};

/// The node in the making of one level.
struct Level {
  PageNumber page;         ///< none as long as the level has no other node
  PageNumber first_child;  ///< inner levels
  KeyBuffer lower;         ///< lower bound; empty for the first node of a level
  std::vector<Entry> entries;
  std::vector<std::byte> heap;
  size_t body_bytes = 0;  ///< records and slots with full keys
  TxnId newest_change;

  [[nodiscard]] Bytes Key(size_t i) const {
    return {heap.data() + entries[i].offset, entries[i].key_bytes};
  }
  [[nodiscard]] Bytes Value(size_t i) const {
    return {heap.data() + entries[i].offset + entries[i].key_bytes, entries[i].value_bytes};
  }
  void Push(Bytes key, Bytes value, size_t record_header) {
    entries.push_back(
        {heap.size(), static_cast<uint32_t>(key.size()), static_cast<uint32_t>(value.size())});
    heap.insert(heap.end(), key.begin(), key.end());
    heap.insert(heap.end(), value.begin(), value.end());
    body_bytes += node_layout::kSlotBytes + record_header + key.size() +
                  (record_header == node_layout::kLeafRecordHeader ? value.size() : 0);
  }
  void Pop(size_t record_header) {
    body_bytes -= node_layout::kSlotBytes + record_header + entries.back().key_bytes;
    heap.resize(entries.back().offset);
    entries.pop_back();
  }
  void Begin(PageNumber number, PageNumber child, Bytes lower_bound) {
    page = number;
    lower.assign(lower_bound.begin(), lower_bound.end());
    first_child = child;
    entries.clear();
    heap.clear();
    body_bytes = 0;
    newest_change = kNoTxn;
  }
  /// Page bytes of the entries, plus one of `extra` bytes, with a prefix and a fence.
  [[nodiscard]] size_t BytesWith(size_t prefix, size_t fence, size_t extra) const {
    return node_layout::kSlots + std::max(prefix, fence) + body_bytes - entries.size() * prefix +
           extra;
  }
};

}  // namespace

struct BulkBuilder::Impl {
  explicit Impl(Tree* the_tree) : tree(the_tree) {}

  Tree* const tree;
  std::deque<Level> levels;  // references stay good while levels are added
  KeyBuffer last_key;
  bool any = false;

  [[nodiscard]] size_t page_bytes() const { return tree->pool()->page_size_bytes(); }

  Status AddTo(size_t level, Bytes key, Bytes value, TxnId stamp);
  Status CloseLeafBefore(Bytes next_key);
  Status CloseLeafAtEnd();
  Status CloseInnerAtLast(size_t level);
  Status CloseAt(size_t level, Bytes upper, PageNumber next_first_child);
  Status FinishLevel(size_t level);
  Status Write(size_t level, const NodeBounds& bounds, bool as_root);
  Result<PageNumber> NewPage(PageNumber near, size_t level);
  [[nodiscard]] bool Overflows(const Level& node, bool leaf, Bytes key, size_t entry_bytes) const;
  [[nodiscard]] bool Fits(const Level& node, Bytes upper) const {
    const size_t fence = upper.size() <= kHighKeyBytesMax ? upper.size() : 0;
    return node.BytesWith(CommonPrefix(node.lower, upper), fence, 0) <= page_bytes();
  }
};

/// Takes a page and makes it an empty node at once, so that it is never without content.
Result<PageNumber> BulkBuilder::Impl::NewPage(PageNumber near, size_t level) {
  PageAllocator* allocator = tree->allocator();
  Result<PageReservation> reservation = allocator->Reserve(tree->space(), 1);
  if (!reservation.ok()) return reservation.status();
  MiniTxn mini_txn(tree->pool());
  Status status = mini_txn.Start(256);
  if (!status.ok()) return status;
  Result<MutablePage> page = allocator->AllocateNew(&mini_txn, &*reservation, near);
  if (page.ok()) LogInitNode(&mini_txn, *page, tree->index(), static_cast<uint8_t>(level));
  if (mini_txn.has_changes()) mini_txn.Commit();
  if (!page.ok()) return page.status();
  return page->id.page;
}

bool BulkBuilder::Impl::Overflows(const Level& node, bool leaf, Bytes key,
                                  size_t entry_bytes) const {
  if (node.entries.empty()) return false;
  const size_t prefix = CommonPrefix(node.lower, key);
  // Two large rows share a leaf however full that makes it.
  if (leaf && node.entries.size() < kEntriesBeforeHighKey) {
    return node.BytesWith(prefix, 0, entry_bytes - prefix) > page_bytes();
  }
  const size_t fence = std::min(key.size() + 1, kHighKeyBytesMax);
  return node.BytesWith(prefix, fence, entry_bytes - prefix) > FillBytes(page_bytes());
}

Status BulkBuilder::Impl::AddTo(size_t level, Bytes key, Bytes value, TxnId stamp) {
  const size_t header =
      level == 0 ? node_layout::kLeafRecordHeader : node_layout::kInnerRecordHeader;
  const size_t entry_bytes =
      node_layout::kSlotBytes + header + key.size() + (level == 0 ? value.size() : 0);
  Level& node = levels[level];
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

Status BulkBuilder::Impl::CloseLeafBefore(Bytes next_key) {
  const Level& leaf = levels[0];
  KeyBuffer upper;
  ShortestSeparator(leaf.Key(leaf.entries.size() - 1), next_key, &upper);
  const bool closes = Fits(leaf, upper) || leaf.entries.size() <= kEntriesBeforeHighKey;
  return closes ? CloseAt(0, upper, kNoPage) : CloseLeafAtEnd();
}

Status BulkBuilder::Impl::CloseLeafAtEnd() {
  const Bytes last = levels[0].Key(levels[0].entries.size() - 1);
  KeyBuffer upper(last.begin(), last.end());
  upper.push_back(std::byte{0});
  return CloseAt(0, upper, kNoPage);
}

Status BulkBuilder::Impl::CloseInnerAtLast(size_t level) {
  Level& node = levels[level];
  const size_t last = node.entries.size() - 1;
  const Bytes key = node.Key(last);
  const KeyBuffer upper(key.begin(), key.end());
  const PageNumber child(LoadLe<uint32_t>(node.Value(last).data()));
  node.Pop(node_layout::kInnerRecordHeader);
  return CloseAt(level, upper, child);
}

/// Writes the node of a level with its upper bound, begins the next one there, and tells the
/// parents.
Status BulkBuilder::Impl::CloseAt(size_t level, Bytes upper, PageNumber next_first_child) {
  Level& node = levels[level];
  if (node.page == kNoPage) {
    // The level's first node is not its only one: it gets a page and a parent.
    Result<PageNumber> own = NewPage(tree->root(), level);
    if (!own.ok()) return own.status();
    node.page = *own;
    levels.emplace_back().first_child = *own;
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

/// The last node of a level has no upper bound and hence no prefix.
Status BulkBuilder::Impl::FinishLevel(size_t level) {
  if (levels[level].BytesWith(0, 0, 0) > page_bytes()) {
    const Status status = level == 0 ? CloseLeafAtEnd() : CloseInnerAtLast(level);
    if (!status.ok()) return status;
  }
  NodeBounds whole;
  whole.rightmost = true;
  return Write(level, whole, level + 1 == levels.size());
}

Status BulkBuilder::Impl::Write(size_t level, const NodeBounds& bounds, bool as_root) {
  const Level& node = levels[level];
  const PageId id{tree->space(), as_root ? tree->root() : node.page};
  const MutableBytes image = NodeScratch(Scratch::kCaller, page_bytes());
  NodeBuilder builder(image,
                      {id, tree->index(), static_cast<uint8_t>(level), node.first_child,
                       level == 0 ? node.newest_change : kNoTxn},
                      bounds);
  for (size_t i = 0; i < node.entries.size(); ++i) {
    ROWAN_CHECK(builder.Append(node.Key(i), {}, node.Value(i)));
  }
  MiniTxn mini_txn(tree->pool());
  const Status status =
      mini_txn.Start(LoadRecordBytesMax(static_cast<uint32_t>(page_bytes())) + 64);
  if (!status.ok()) return status;
  Result<MutablePage> page = mini_txn.Fix(id);
  if (!page.ok()) return page.status();
  LogLoadNode(&mini_txn, *page, image);
  mini_txn.Commit();
  return Status::Ok();
}

BulkBuilder::BulkBuilder(Tree* tree) : impl_(std::make_unique<Impl>(tree)) {}
BulkBuilder::~BulkBuilder() = default;

Status BulkBuilder::Add(Bytes key, Bytes value, TxnId stamp) {
  Impl& impl = *impl_;
  const auto page_bytes = static_cast<uint32_t>(impl.page_bytes());
  if (key.size() > Tree::MaxKeyBytes(page_bytes) ||
      key.size() + value.size() > Tree::MaxEntryBytes(page_bytes)) {
    return Status(Code::kTooBig, "entry larger than the page size permits");
  }
  if (impl.any && CompareBytes(impl.last_key, key) >= 0) {
    return Status(Code::kInvalidArgument, "keys of a bulk build must ascend");
  }
  if (!impl.any) {
    impl.levels.emplace_back();
    impl.any = true;
  }
  const Status status = impl.AddTo(0, key, value, stamp);
  impl.last_key.assign(key.begin(), key.end());
  return status;
}

Status BulkBuilder::Finish() {
  Impl& impl = *impl_;
  for (size_t level = 0; level < impl.levels.size(); ++level) {
    const Status status = impl.FinishLevel(level);
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

}  // namespace rowan
