// SPDX-License-Identifier: GPL-2.0-only
// An entry goes into the arena as it stands in the leaf, with the header of its value between key
// and row: one copy. What leaves the page is damage (NodeView::EntryAt).
#include "mvcc/row/leaf_copy.h"

#include <algorithm>
#include <cstring>

namespace rowan {
namespace {

/// The prefix of the leaf's keys, which each copied key begins with.
class LeafPrefix {
 public:
  explicit LeafPrefix(Bytes prefix) : prefix_(prefix) {
    if (!prefix.empty()) std::memcpy(head_, prefix.data(), std::min(prefix.size(), kHeadBytes));
  }
  [[nodiscard]] size_t size() const { return prefix_.size(); }
  /// Writes as many bytes as there are, or kHeadBytes if that is more.
  void CopyTo(std::byte* target) const {
    std::memcpy(target, head_, kHeadBytes);
    if (prefix_.size() > kHeadBytes) std::memcpy(target, prefix_.data(), prefix_.size());
  }

  static constexpr size_t kHeadBytes = 16;  // one store

 private:
  const Bytes prefix_;
  std::byte head_[kHeadBytes] = {};
};

/// Bytes before row or payload in a value that begins with these flags.
template <bool kClustered>
size_t HeaderBytes(uint8_t flags) {
  if constexpr (kClustered) return kClusteredHeaderBytes;
  return (flags & kEntryHasCreator) != 0 ? 1 + kCreatorCut.bytes : 1;
}

template <bool kClustered>
Status CopyEntries(ScanState* scan, size_t slots, size_t* looked) {
  const NodeView leaf = scan->cursor->View();
  const LeafPrefix prefix(leaf.prefix());
  const size_t step = scan->forward() ? 1 : SIZE_MAX;
  size_t slot = scan->cursor->slot();
  size_t room = scan->limit - std::min(scan->limit, scan->items.size());
  size_t count = 0;
  for (; count < slots && room > 0; ++count, slot += step) {
    const NodeView::Entry entry = leaf.EntryAt(slot);
    const size_t value_bytes = entry.bytes.size() - entry.suffix_bytes;
    if (value_bytes == 0) return scan->Damage("an entry without a header");
    const auto flags = static_cast<uint8_t>(entry.bytes[entry.suffix_bytes]);
    if ((flags & kEntryMarked) != 0) continue;
    const size_t header_bytes = HeaderBytes<kClustered>(flags);
    if (value_bytes < header_bytes) return scan->Damage("an entry shorter than its header");
    const size_t tree_key_bytes = prefix.size() + entry.suffix_bytes;
    const bool has_repeat = !kClustered && (flags & kEntryHasRepeat) != 0;
    const size_t repeat_bytes = has_repeat ? kRepeatBytes : 0;
    if (tree_key_bytes < repeat_bytes) return scan->Damage("an entry shorter than its repeat");
    const size_t bytes = prefix.size() + entry.bytes.size();
    std::byte* const target = scan->arena.Reserve(bytes + LeafPrefix::kHeadBytes);
    const size_t offset = scan->arena.size();
    prefix.CopyTo(target);
    std::memcpy(target + prefix.size(), entry.bytes.data(), entry.bytes.size());
    scan->arena.Commit(bytes);
    scan->copied_bytes += bytes - header_bytes;
    --room;
    scan->items.push_back(
        {.key_offset = static_cast<uint32_t>(offset),
         .value_offset = static_cast<uint32_t>(offset + tree_key_bytes + header_bytes),
         .value_bytes = static_cast<uint32_t>(value_bytes - header_bytes),
         .key_bytes = static_cast<uint16_t>(tree_key_bytes - repeat_bytes),
         .has_repeat = has_repeat});
  }
  *looked = count;
  return Status::Ok();
}

}  // namespace

Status CopyDecided(ScanState* scan, size_t slots, size_t* looked) {
  return scan->index->clustered ? CopyEntries<true>(scan, slots, looked)
                                : CopyEntries<false>(scan, slots, looked);
}

}  // namespace rowan
