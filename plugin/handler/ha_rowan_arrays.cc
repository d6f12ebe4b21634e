// SPDX-License-Identifier: GPL-2.0-only
// Indexes in which a row has any number of entries. Indexes on arrays (CAST ... AS ... ARRAY): one
// for each value of its array, which are all different, one if the array is NULL, and none if it is
// empty. FULLTEXT indexes: one for each word.
#include "plugin/server/abi_guard.h"

#include "plugin/handler/ha_rowan.h"

#include <algorithm>
#include <limits>

namespace rowan {
namespace {

/// Which entry comes first: by index, then by key.
int Compare(const RowImage::Element& left, const RowImage::Element& right) {
  if (left.index_number != right.index_number) {
    return left.index_number < right.index_number ? -1 : 1;
  }
  return CompareBytes(left.entry.key, right.entry.key);
}

}  // namespace

void ha_rowan::mv_key_capacity(uint* keys, size_t* bytes) const {
  // Each entry is written by itself: there is no limit of all.
  *keys = std::numeric_limits<uint>::max();
  *bytes = std::numeric_limits<uint32_t>::max();
}

Status ha_rowan::EncodeElements(uint32_t index_number, const uchar* record, RowImage* image) const {
  const auto keep = [&](const EncodedEntry& entry) {
    image->elements.push_back({index_number, entry});
    return Status::Ok();
  };
  EncodedEntry buffer{.computed = image->entries[index_number].computed};
  const size_t first = image->elements.size();
  const Status status =
      RowReadingCodec()->EncodeEntries(index_number, record, image->key, &buffer, keep);
  std::sort(image->elements.begin() + static_cast<ptrdiff_t>(first), image->elements.end(),
            [](const auto& left, const auto& right) { return Compare(left, right) < 0; });
  return status;
}

void ha_rowan::AddElementChanges() {
  auto before = old_image_.elements.cbegin();
  auto after = new_image_.elements.cbegin();
  const auto before_end = old_image_.elements.cend();
  const auto after_end = new_image_.elements.cend();
  const auto first = static_cast<ptrdiff_t>(changes_.size());
  while (before != before_end || after != after_end) {
    const int order = before == before_end ? 1 : after == after_end ? -1 : Compare(*before, *after);
    const uint32_t index_number = order <= 0 ? before->index_number : after->index_number;
    EntryChange change{{.index = index_number}, {.index = index_number}};
    if (order <= 0) change.before = before->entry.View(index_number);
    if (order >= 0) change.after = after->entry.View(index_number);
    const bool same = order == 0 && EqualBytes(change.before.payload, change.after.payload);
    if (!same) changes_.push_back(change);
    if (order <= 0) ++before;
    if (order >= 0) ++after;
  }
  // A row whose primary key changes has its unique values only once it has given them up.
  std::stable_partition(changes_.begin() + first, changes_.end(),
                        [](const EntryChange& change) { return change.after.key.empty(); });
}

}  // namespace rowan
