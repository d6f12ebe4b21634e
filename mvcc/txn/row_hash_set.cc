// SPDX-License-Identifier: GPL-2.0-only
#include "mvcc/txn/row_hash_set.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/assertions.h"

namespace rowan {

namespace {

constexpr size_t kFirstSlots = 16;

}  // namespace

size_t RowHashSet::SlotOf(uint64_t mark) const {
  ROWAN_DCHECK(size_ < slots_.size() && std::has_single_bit(slots_.size()));
  ROWAN_DCHECK(mark != 0);
  size_t slot = mark & (slots_.size() - 1);
  while (slots_[slot] != 0 && slots_[slot] != mark) slot = Next(slot);
  return slot;
}

bool RowHashSet::Contains(uint64_t hash) const {
  return size_ != 0 && slots_[SlotOf(Mark(hash))] != 0;
}

void RowHashSet::Add(uint64_t hash) {
  if (size_ >= slots_.size() / 4 * 3) Grow();
  uint64_t& slot = slots_[SlotOf(Mark(hash))];
  size_ += slot == 0 ? 1 : 0;
  slot = Mark(hash);
}

void RowHashSet::Remove(uint64_t hash) {
  if (!Contains(hash)) return;
  const size_t mask = slots_.size() - 1;
  size_t hole = SlotOf(Mark(hash));
  for (size_t slot = Next(hole); slots_[slot] != 0; slot = Next(slot)) {
    // An entry whose probe sequence crosses the hole must move into it.
    const size_t home = slots_[slot] & mask;
    if (((slot - home) & mask) < ((slot - hole) & mask)) continue;
    slots_[hole] = slots_[slot];
    hole = slot;
  }
  ROWAN_DCHECK(size_ != 0);
  slots_[hole] = 0;
  --size_;
}

void RowHashSet::Grow() {
  const std::vector<uint64_t> former =
      std::exchange(slots_, std::vector<uint64_t>(std::max(kFirstSlots, slots_.size() * 2)));
  for (const uint64_t mark : former) {
    if (mark != 0) slots_[SlotOf(mark)] = mark;
  }
}

}  // namespace rowan
