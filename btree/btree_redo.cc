// SPDX-License-Identifier: GPL-2.0-only
// Redo of the tree's records: decodes what node_log.cc wrote and calls the same node functions.
// Nothing here trusts body or page: anything inconsistent is kCorrupt.
#include <cstring>
#include <vector>

#include "btree/node_edit.h"
#include "btree/node_split.h"
#include "btree/tree.h"
#include "wal/redo.h"

namespace rowan {
namespace {

Status Malformed() { return Status(Code::kCorrupt, "tree redo record does not fit its page"); }

/// Reads varints from a body; once one is cut off the body stays bad.
class BodyReader {
 public:
  explicit BodyReader(Bytes body) : position_(body.data()), end_(body.data() + body.size()) {}
  uint64_t Varint() {
    uint64_t value = 0;
    const std::byte* next = good_ ? GetVarint(position_, end_, &value) : nullptr;
    if (next == nullptr) {
      good_ = false;
      return 0;
    }
    position_ = next;
    return value;
  }
  Bytes Take(uint64_t length) {
    if (!good_ || length > static_cast<uint64_t>(end_ - position_)) {
      good_ = false;
      return {};
    }
    const Bytes bytes(position_, length);
    position_ += length;
    return bytes;
  }
  Bytes Rest() { return Take(static_cast<uint64_t>(end_ - position_)); }
  [[nodiscard]] bool good() const { return good_; }

 private:
  const std::byte* position_;
  const std::byte* end_;
  bool good_ = true;
};

bool IsSane(MutableBytes page) { return NodeView(page).HeaderIsSane(); }

Status RedoInit(PageId id, MutableBytes page, Bytes body) {
  if (body.size() != 9) return Malformed();
  InitNode(page, id, IndexId(LoadLe<uint64_t>(body.data())), static_cast<uint8_t>(body[8]));
  return Status::Ok();
}

Status RedoInsert(PageId, MutableBytes page, Bytes body) {
  BodyReader reader(body);
  const uint64_t slot = reader.Varint();
  const TxnId stamp(reader.Varint());
  const Bytes suffix = reader.Take(reader.Varint());
  const Bytes value = reader.Rest();
  if (!reader.good() || !IsSane(page)) return Malformed();
  const NodeView node(page);
  if (slot > node.count() || !NodeHasRoom(node, suffix.size(), value.size())) return Malformed();
  return InsertEntry(page, slot, suffix, value, stamp) ? Status::Ok() : Malformed();
}

Status RedoUpdate(PageId, MutableBytes page, Bytes body) {
  BodyReader reader(body);
  const uint64_t slot = reader.Varint();
  const TxnId stamp(reader.Varint());
  const uint64_t front = reader.Varint();
  const uint64_t behind = reader.Varint();
  const Bytes middle = reader.Rest();
  if (!reader.good() || !IsSane(page)) return Malformed();
  const NodeView node(page);
  if (!node.is_leaf() || slot >= node.count()) return Malformed();
  const Bytes old = node.Value(slot);
  if (front > old.size() || behind > old.size() - front) return Malformed();
  const uint64_t size = front + middle.size() + behind;
  if (size > page.size()) return Malformed();
  const MutableBytes value = NodeScratch(Scratch::kCaller, page.size()).first(size);
  if (front > 0) std::memcpy(value.data(), old.data(), front);
  if (!middle.empty()) std::memcpy(value.data() + front, middle.data(), middle.size());
  if (behind > 0) {
    std::memcpy(value.data() + front + middle.size(), old.data() + old.size() - behind, behind);
  }
  return ReplaceValue(page, slot, value, stamp) ? Status::Ok() : Malformed();
}

Status RedoRemove(PageId, MutableBytes page, Bytes body) {
  BodyReader reader(body);
  const uint64_t slot = reader.Varint();
  if (!reader.good() || !IsSane(page) || slot >= NodeView(page).count()) return Malformed();
  RemoveEntry(page, slot);
  return Status::Ok();
}

Status RedoLoad(PageId id, MutableBytes page, Bytes body) {
  constexpr size_t kFixed = 10;
  constexpr size_t kHeader = node_layout::kSlots - kPageHeaderBytes;
  if (body.size() < kFixed + kHeader) return Malformed();
  const IndexId index(LoadLe<uint64_t>(body.data()));
  const Bytes content = body.subspan(kFixed);
  const auto field = [&content](size_t offset) {
    return LoadLe<uint16_t>(content.data() + offset - kPageHeaderBytes);
  };
  const size_t front = kHeader + node_layout::kSlotBytes * field(node_layout::kCount);
  const size_t heap = field(node_layout::kHeapBytes);
  if (front + heap != content.size() || content.size() > page.size() - kPageHeaderBytes) {
    return Malformed();
  }
  InitPageHeader(page, id, PageType::kTreeNode, kNodeVersion, index);
  SetPageFlags(page.data(), LoadLe<uint16_t>(body.data() + 8));
  std::memcpy(page.data() + kPageHeaderBytes, content.data(), front);
  if (heap > 0) std::memcpy(page.data() + page.size() - heap, content.data() + front, heap);
  return IsSane(page) ? Status::Ok() : Malformed();
}

Status RedoTruncate(PageId, MutableBytes page, Bytes body) {
  BodyReader reader(body);
  const uint64_t keep = reader.Varint();
  const uint64_t right = reader.Varint();
  const uint64_t flags = reader.Varint();
  const uint64_t prefix_bytes = reader.Varint();
  const Bytes fence = reader.Rest();
  if (!reader.good() || !IsSane(page) || prefix_bytes > fence.size()) return Malformed();
  NodeBounds bounds;
  if ((flags & kNodeHighKeyStored) != 0) bounds.high = fence;
  bounds.prefix = fence.first(prefix_bytes);
  bounds.rightmost = (flags & kNodeRightmost) != 0;
  bounds.right = PageNumber(static_cast<uint32_t>(right));
  return ReboundNode(page, keep, bounds) ? Status::Ok() : Malformed();
}

Status RedoCompact(PageId, MutableBytes page, Bytes body) {
  BodyReader reader(body);
  const uint64_t number = reader.Varint();
  if (!reader.good() || !IsSane(page) || number > NodeView(page).count()) return Malformed();
  std::vector<uint16_t> slots;
  uint64_t slot = 0;
  for (uint64_t i = 0; i < number; ++i) {
    const uint64_t step = reader.Varint();
    if (i > 0 && step == 0) return Malformed();
    slot += step;
    if (!reader.good() || slot >= NodeView(page).count()) return Malformed();
    slots.push_back(static_cast<uint16_t>(slot));
  }
  RemoveEntries(page, slots);
  return Status::Ok();
}

Status RedoShorten(PageId, MutableBytes page, Bytes body) {
  BodyReader reader(body);
  const Bytes cut_bytes = reader.Take(3);
  const uint64_t number = reader.Varint();
  if (!reader.good() || !IsSane(page)) return Malformed();
  const size_t count = NodeView(page).count();
  if (!NodeView(page).is_leaf() || number > count) return Malformed();
  SlotRuns runs;
  size_t behind = 0;
  for (uint64_t i = 0; i < number; ++i) {
    const uint64_t passed = reader.Varint();
    const uint64_t entries = reader.Varint();
    if (!reader.good() || passed > count - behind) return Malformed();
    const size_t first = behind + passed;
    if (entries > count - first) return Malformed();
    runs.push_back({static_cast<uint16_t>(first), static_cast<uint16_t>(entries)});
    behind = first + entries;
  }
  const ValueCut cut{static_cast<uint8_t>(cut_bytes[0]), static_cast<uint8_t>(cut_bytes[1]),
                     static_cast<uint8_t>(cut_bytes[2])};
  if (cut.offset == 0 || cut.bytes == 0 || !ShortenValues(page, runs, cut) || !IsSane(page))
    return Malformed();
  return Status::Ok();
}

}  // namespace

void RegisterTreeRedo() {
  RegisterRedo(RecordType::kNodeInit, {.apply = RedoInit, .initialises_page = true});
  RegisterRedo(RecordType::kNodeInsert, {.apply = RedoInsert});
  RegisterRedo(RecordType::kNodeUpdate, {.apply = RedoUpdate});
  RegisterRedo(RecordType::kNodeRemove, {.apply = RedoRemove});
  RegisterRedo(RecordType::kNodeLoad, {.apply = RedoLoad, .initialises_page = true});
  RegisterRedo(RecordType::kNodeTruncate, {.apply = RedoTruncate});
  RegisterRedo(RecordType::kNodeCompact, {.apply = RedoCompact});
  RegisterRedo(RecordType::kNodeShorten, {.apply = RedoShorten});
}

}  // namespace rowan
