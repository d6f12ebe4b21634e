// SPDX-License-Identifier: GPL-2.0-only
#include "mvcc/txn/changed_indexes.h"

#include <algorithm>

#include "base/assertions.h"

namespace rowan {

void ChangedIndexes::Add(IndexId index) {
  if (index == kNoIndex) return;
  ids_.push_back(index);
  recent_[index.value() % kRecent] = index;
  if (ids_.size() < join_at_) return;
  Join();
  // So joining costs a constant number of comparisons per id, however many indexes alternate.
  join_at_ = std::max(kJoinAtFirst, 2 * ids_.size());
}

void ChangedIndexes::Join() {
  std::sort(ids_.begin(), ids_.end());
  ids_.erase(std::unique(ids_.begin(), ids_.end()), ids_.end());
}

const std::vector<IndexId>& ChangedIndexes::All() {
  Join();
  return ids_;
}

void ChangedIndexes::Clear() {
  if (ids_.empty()) return;
  recent_ = {};
  ids_.clear();
  join_at_ = kJoinAtFirst;
}

std::vector<std::byte> ChangedIndexes::Encode() {
  std::vector<std::byte> encoded(All().size() * kVarintBytesMax);
  std::byte* position = encoded.data();
  uint64_t previous = 0;
  for (const IndexId index : ids_) {
    ROWAN_DCHECK(index.value() > previous);
    position = PutVarint(position, index.value() - previous);
    previous = index.value();
  }
  encoded.resize(static_cast<size_t>(position - encoded.data()));
  return encoded;
}

bool ChangedIndexes::Decode(Bytes encoded) {
  const std::byte* position = encoded.data();
  const std::byte* const end = position + encoded.size();
  uint64_t value = 0;
  while (position != end) {
    uint64_t difference = 0;
    position = GetVarint(position, end, &difference);
    if (position == nullptr || difference == 0) return false;
    value += difference;
    Note(IndexId(value));
  }
  return true;
}

}  // namespace rowan
