// SPDX-License-Identifier: GPL-2.0-only
#include "engine/peeked_entries.h"

namespace rowan {
namespace {

/// As many as RowsAhead asks for at once, and how many are left when more are copied.
constexpr size_t kPeeked = 64;
constexpr size_t kLeft = 32;
/// All are of one scan.
constexpr uint32_t kBatch = 1;

}  // namespace

RowsAhead::Known PeekedEntries::Find(VersionCursor* scan, Bytes key) {
  size_t here = number_ < first_ ? 0 : number_ - first_;
  while (here < keys_.size() && !EqualBytes(keys_[here], key)) ++here;
  const bool found = here < keys_.size();
  number_ = first_ + here;
  if (!found || (more_ && here + kLeft >= keys_.size())) Peek(scan);
  return {kBatch, number_, first_ + keys_.size()};
}

void PeekedEntries::Peek(VersionCursor* scan) {
  keys_.clear();
  first_ = number_ + 1;
  scan->PeekAhead(kPeeked, [this](Bytes key) { keys_.emplace_back(key.begin(), key.end()); });
  more_ = keys_.size() == kPeeked;
}

}  // namespace rowan
