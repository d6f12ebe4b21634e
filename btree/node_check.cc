// SPDX-License-Identifier: GPL-2.0-only
#include "btree/node_check.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "btree/node.h"

namespace rowan {
namespace {

const char* CheckHeader(const NodeView& node) {
  const std::byte* page = node.page().data();
  if (PageTypeOf(page) != PageType::kTreeNode) return "it is not a tree node";
  if (PageVersionOf(page) != kNodeVersion) return "it has an unknown node version";
  if (!node.HeaderIsSane()) return "it has impossible sizes in its node header";
  const bool stored = node.high_key_length() > 0;
  if (stored != node.has_high_key()) return "it disagrees with itself about its high key";
  if (stored && node.rightmost()) return "it is right-most and has a high key";
  if (node.rightmost() && node.prefix_length() != 0) return "it is right-most and has a prefix";
  if (stored && node.prefix_length() > node.high_key_length()) {
    return "it has a prefix longer than its high key";
  }
  if (!node.is_leaf() && node.first_child() == kNoPage) return "it has no first child";
  return nullptr;
}

const char* CheckRecords(const NodeView& node) {
  const size_t heap_begin = node.page().size() - node.heap_bytes();
  const size_t fence_begin = node.page().size() - node.fence_bytes();
  std::vector<std::pair<size_t, size_t>> ranges;
  ranges.reserve(node.count());
  size_t total = node.fence_bytes() + node.garbage_bytes();
  for (size_t slot = 0; slot < node.count(); ++slot) {
    const size_t begin = node.Offset(slot);
    if (node.Suffix(slot).size() != node.SuffixLength(slot)) return "it has a key outside the page";
    const size_t size = node.RecordBytes(slot);
    if (begin < heap_begin || begin + size > fence_begin) return "it has a record outside its heap";
    if (node.Head(slot) != NodeHead(node.Suffix(slot))) return "it has a wrong slot head";
    if (!node.is_leaf() && node.Child(slot + 1) == kNoPage) return "it has an empty child number";
    ranges.emplace_back(begin, begin + size);
    total += size;
  }
  if (total != node.heap_bytes()) return "it has heap bytes that no entry accounts for";
  std::sort(ranges.begin(), ranges.end());
  for (size_t i = 1; i < ranges.size(); ++i) {
    if (ranges[i].first < ranges[i - 1].second) return "it has overlapping records";
  }
  return nullptr;
}

const char* CheckOrder(const NodeView& node) {
  for (size_t slot = 1; slot < node.count(); ++slot) {
    if (CompareBytes(node.Suffix(slot - 1), node.Suffix(slot)) >= 0) {
      return "it has keys out of order";
    }
  }
  if (node.has_high_key() && node.count() > 0) {
    const Bytes high = node.high_key().subspan(node.prefix_length());
    if (CompareBytes(node.Suffix(node.count() - 1), high) >= 0) {
      return "it has a key at or above its high key";
    }
  }
  return nullptr;
}

}  // namespace

const char* CheckNode(Bytes page) {
  const NodeView node(page);
  const char* wrong = CheckHeader(node);
  if (wrong == nullptr) wrong = CheckRecords(node);
  if (wrong == nullptr) wrong = CheckOrder(node);
  return wrong;
}

}  // namespace rowan
