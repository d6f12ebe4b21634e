// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/blocks/group_table.h"

#include <cstring>

#include <xxhash.h>

namespace rowan {

bool GroupTable::Has(uint32_t group, uint64_t hash, Bytes key) const {
  const Group& known = groups_[group];
  return known.hash == hash && known.key_bytes == key.size() &&
         std::memcmp(keys_.data() + known.key_offset, key.data(), key.size()) == 0;
}

uint32_t GroupTable::Find(Bytes key, bool* is_new) {
  *is_new = false;
  const uint64_t hash = XXH3_64bits(key.data(), key.size());
  size_t slot = hash & (slots_.size() - 1);
  for (; slots_[slot] != 0; slot = (slot + 1) & (slots_.size() - 1)) {
    if (Has(slots_[slot] - 1, hash, key)) return slots_[slot] - 1;
  }
  *is_new = true;
  groups_.push_back({hash, keys_.size(), key.size()});
  keys_.insert(keys_.end(), key.begin(), key.end());
  slots_[slot] = size();
  if (groups_.size() * 2 > slots_.size()) Grow();
  return size() - 1;
}

void GroupTable::Grow() {
  std::vector<uint32_t> slots(slots_.size() * 2, 0);
  for (uint32_t group = 0; group < size(); ++group) {
    size_t slot = groups_[group].hash & (slots.size() - 1);
    while (slots[slot] != 0) slot = (slot + 1) & (slots.size() - 1);
    slots[slot] = group + 1;
  }
  slots_ = std::move(slots);
}

void GroupTable::Clear() {
  slots_.assign(kSlotsMin, 0);
  groups_.clear();
  keys_.clear();
}

}  // namespace rowan
