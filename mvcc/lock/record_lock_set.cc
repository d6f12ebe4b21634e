// SPDX-License-Identifier: GPL-2.0-only
#include "mvcc/lock/record_lock_set.h"

#include <algorithm>

#include "base/assertions.h"

namespace rowan {

RecordLockSet::RecordLockSet()
    : parts_(std::make_unique<Part[]>(kParts)), memory_bytes_(kParts * sizeof(Part)) {}

uint32_t RecordLockSet::SlotOf(const Part& part, uint32_t mark) {
  ROWAN_DCHECK(part.count < part.capacity && mark != 0);
  auto slot = static_cast<uint32_t>((uint64_t{mark} * part.capacity) >> 32);
  while (part.slots[slot] != 0 && part.slots[slot] != mark) {
    if (++slot == part.capacity) slot = 0;
  }
  return slot;
}

void RecordLockSet::Add(uint64_t key_hash) {
  Part& part = parts_[key_hash >> (64 - kPartBits)];
  const uint32_t mark = Mark(key_hash);
  // At most seven eighths full: 4.6 bytes a lock then, 6.9 after the next growth.
  if (8 * (uint64_t{part.count} + 1) > 7 * uint64_t{part.capacity}) Grow(&part);
  const uint32_t slot = SlotOf(part, mark);
  if (part.slots[slot] == mark) return;
  part.slots[slot] = mark;
  ++part.count;
  ++size_;
}

bool RecordLockSet::Contains(uint64_t key_hash) const {
  const Part& part = parts_[key_hash >> (64 - kPartBits)];
  if (part.count == 0) return false;
  const uint32_t mark = Mark(key_hash);
  return part.slots[SlotOf(part, mark)] == mark;
}

void RecordLockSet::Grow(Part* part) {
  Part larger;
  larger.capacity = std::max(8u, part->capacity + part->capacity / 2);
  larger.slots = std::make_unique<uint32_t[]>(larger.capacity);
  larger.count = part->count;
  for (uint32_t i = 0; i < part->capacity; ++i) {
    const uint32_t mark = part->slots[i];
    if (mark != 0) larger.slots[SlotOf(larger, mark)] = mark;
  }
  memory_bytes_ += sizeof(uint32_t) * (larger.capacity - part->capacity);
  ROWAN_DCHECK(larger.count < larger.capacity);
  *part = std::move(larger);
}

}  // namespace rowan
