// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/blocks/sorted_rows.h"

#include <algorithm>
#include <utility>

#include "base/counters.h"
#include "base/out_of_memory.h"

namespace rowan {
namespace {

/// All rows are needed before the first one is delivered.
constexpr size_t kFirstBatch = 1024;

}  // namespace

SortedRows::SortedRows(BlockPlan plan, const Order& order)
    : block_(std::move(plan), kFirstBatch),
      count_max_(order.count_max),
      distinct_(order.distinct),
      values_(block_.values(), order.keys) {}

void SortedRows::Restart(const RowPlan::Range* keys) {
  if (keys != nullptr) block_.LookUp(*keys);
  block_.Restart();
  values_.Clear();
  copies_.Clear();
  slots_.clear();
  free_.clear();
  order_.clear();
  capacity_ = next_ = 0;
  delivered_ = 0;
  is_collected_ = false;
  last_ = kNoSlot;
}

Status SortedRows::Next(TableCursor* reader, unsigned char* record) {
  return OrOutOfMemory([&] { return TryNext(reader, record); });
}

Status SortedRows::TryNext(TableCursor* reader, unsigned char* record) {
  if (delivered_ == count_max_) return Status(Code::kEndOfRange);
  while (!is_collected_ || next_ == order_.size()) {
    if (is_collected_ && !has_more_) return Status(Code::kEndOfRange);
    if (const Status status = Collect(reader, record); !status.ok()) return status;
  }
  ++delivered_;
  const RowCopy& row = slots_[order_[next_++]].row;
  return reader->PutEntry(copies_.KeyOf(row), copies_.ValueOf(row), record);
}

/// A pass over the rows.
Status SortedRows::Collect(TableCursor* reader, unsigned char* record) {
  const bool is_first = !is_collected_;
  if (!is_first) {
    block_.Restart();
    if (last_ != kNoSlot) free_.push_back(last_);
    last_ = order_.back();
    order_.pop_back();
    free_.insert(free_.end(), order_.begin(), order_.end());
    order_.clear();
  }
  is_collected_ = has_more_ = false;
  arrivals_ = 0;
  uint64_t examined = 0;
  // Those delivered count again, as those that a sort of the server reads.
  const auto count = [&] {
    if (is_first) BlockReader::CountExamined(examined);
  };
  for (;;) {
    const Status status = block_.NextBatch(
        reader, [this](Batch* batch, Selection* rows) { values_.Read(batch, rows); });
    if (status.Is(Code::kEndOfRange)) break;
    if (!status.ok()) return status;
    if (const Status collected = CollectBatch(record, &examined); !collected.ok()) {
      count();
      return collected;
    }
  }
  Arrange();
  count();
  is_collected_ = true;
  next_ = 0;
  return Status::Ok();
}

/// Adds the rows that were read to `*examined`.
Status SortedRows::CollectBatch(unsigned char* record, uint64_t* examined) {
  const RowNumber* row = block_.rows().begin();
  const RowNumber* const end = block_.rows().end();
  for (const RowNumber aside : block_.aside()) {
    for (; row != end && *row < aside; ++row) {
      const uint32_t slot = TakeSlot();
      values_.Keep(*row, slot);
      Offer(slot, *row);
    }
    AddCounter(Counter::kBlockRowsAside);
    const Status judged = block_.PutIfPasses(aside, record);
    if (judged.Is(Code::kNotFound)) continue;
    const uint32_t slot = judged.ok() ? TakeSlot() : kNoSlot;
    if (!judged.ok() || !values_.KeepOfRecord(slot)) {
      *examined += aside + uint64_t{1};
      return judged.ok() ? Status(Code::kInterrupted) : judged;
    }
    Offer(slot, aside);
  }
  for (; row != end; ++row) {
    const uint32_t slot = TakeSlot();
    values_.Keep(*row, slot);
    Offer(slot, *row);
  }
  *examined += block_.size();
  return Status::Ok();
}

uint32_t SortedRows::TakeSlot() {
  if (free_.empty()) {
    slots_.emplace_back();
    return static_cast<uint32_t>(slots_.size() - 1);
  }
  const uint32_t slot = free_.back();
  free_.pop_back();
  return slot;
}

/// The slot has the row's values.
void SortedRows::Offer(uint32_t slot, RowNumber row) {
  slots_[slot].arrival = arrivals_++;
  if (WasDelivered(slot)) {
    free_.push_back(slot);
    return;
  }
  const StoredRows& stored = block_.stored();
  copies_.Keep(stored.keys[row], stored.values[row], {}, &slots_[slot].row);
  order_.push_back(slot);
  if (capacity_ == 0 && bytes() > kBytesMax) {
    capacity_ = std::max<size_t>(order_.size() - 1, 1);
    std::make_heap(order_.begin(), order_.end() - 1, Before());
  }
  if (capacity_ != 0) DropLast();
}

/// Of rows of which the last one is not in the heap yet, unless they are few enough.
void SortedRows::DropLast() {
  std::push_heap(order_.begin(), order_.end(), Before());
  if (order_.size() <= capacity_) return;
  std::pop_heap(order_.begin(), order_.end(), Before());
  free_.push_back(order_.back());
  order_.pop_back();
  has_more_ = true;
}

void SortedRows::Arrange() {
  std::sort(order_.begin(), order_.end(), Before());
  if (!distinct_) return;
  const auto equal = [this](uint32_t one, uint32_t other) {
    return values_.CompareKept(one, other) == 0;
  };
  order_.erase(std::unique(order_.begin(), order_.end(), equal), order_.end());
}

bool SortedRows::IsBefore(uint32_t slot, uint32_t other) const {
  const int order = values_.CompareKept(slot, other);
  return order != 0 ? order < 0 : slots_[slot].arrival < slots_[other].arrival;
}

bool SortedRows::WasDelivered(uint32_t slot) const {
  if (last_ == kNoSlot) return false;
  const int order = values_.CompareKept(slot, last_);
  if (order != 0) return order < 0;
  return distinct_ || slots_[slot].arrival <= slots_[last_].arrival;
}

}  // namespace rowan
