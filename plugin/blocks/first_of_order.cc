// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/blocks/first_of_order.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace rowan {
namespace {

/// Of long texts; a thousandth of it is usual.
constexpr size_t kBytesMax = size_t{16} << 20;

}  // namespace

FirstOfOrder::FirstOfOrder(const BatchPlan& plan, const std::vector<SortKey>& keys, uint32_t count)
    : plan_(plan), keys_(keys), count_(count), values_(plan, keys) {}

void FirstOfOrder::Restart() {
  values_.Clear();
  slots_.clear();
  heap_.clear();
  has_given_up_ = false;
}

/// Of rows that are equal the one that came first.
bool FirstOfOrder::IsBefore(uint32_t slot, uint32_t other) const {
  const int order = values_.CompareKept(slot, other);
  if (order != 0) return order < 0;
  return std::pair(slots_[slot].batch, slots_[slot].row) <
         std::pair(slots_[other].batch, slots_[other].row);
}

bool FirstOfOrder::IsBefore(RowNumber row, uint32_t slot) const {
  const int order = values_.Compare(row, slot);
  if (order != 0) return order < 0;
  return slots_[slot].batch == batch_ && row < slots_[slot].row;
}

void FirstOfOrder::Offer(RowNumber row) {
  const auto before = [this](uint32_t slot, uint32_t other) { return IsBefore(slot, other); };
  uint32_t slot = static_cast<uint32_t>(slots_.size());
  if (slot < count_) {
    slots_.emplace_back();
    heap_.push_back(slot);
  } else {
    slot = heap_.front();
    if (!IsBefore(row, slot)) return;
    std::pop_heap(heap_.begin(), heap_.end(), before);
  }
  slots_[slot] = {batch_, row};
  values_.Keep(row, slot);
  std::push_heap(heap_.begin(), heap_.end(), before);
}

void FirstOfOrder::Reduce(Batch* batch, Selection* rows) {
  if (has_given_up_) return;
  values_.Read(batch, rows);
  ++batch_;
  if (slots_.size() == count_) values_.RetainBefore(heap_.front(), rows);
  if (rows->empty()) return;
  // All over the batch, as rows often come in the opposite of the order, each before those so far.
  constexpr uint32_t kStep = 317;  // odd: each is met once
  const uint32_t end = std::bit_ceil(rows->size());
  for (uint32_t i = 0, position = 0; i < end; ++i, position = (position + kStep) & (end - 1)) {
    if (position < rows->size()) Offer(rows->begin()[position]);
  }
  RowSet kept;
  for (const Slot& slot : slots_) {
    if (slot.batch == batch_) kept.Add(slot.row);
  }
  rows->SelectAll(kept);
  has_given_up_ = values_.bytes() > kBytesMax;
}

}  // namespace rowan
