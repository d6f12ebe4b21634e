// SPDX-License-Identifier: GPL-2.0-only
// PointsAhead: the ranges of a multi-range read of the clustered index, taken from the server's
// sequence some before their turn while rows are read ahead, so that those that follow are known.
// Sequences that overwrite their keys when they go on (batched key access) are not for it.
// Thread safety: one thread.
#pragma once

#include <array>
#include <cstddef>

#include "sql/handler.h"

#include "engine/rows_ahead.h"

namespace rowan {

class PointsAhead {
 public:
  /// Another sequence begins, in the server's terms.
  void Start(const RANGE_SEQ_IF& ranges, void* start, uint count, uint mode) {
    next_of_sequence_ = ranges.next;
    sequence_ = ranges.init(start, count, mode);
    given_ = taken_ = 0;
    ++list_;
  }
  /// As the server's sequence: nonzero at the end. `looks_ahead`: takes those that follow, too.
  uint Next(bool looks_ahead, KEY_MULTI_RANGE* range) {
    if (!looks_ahead && given_ == taken_) {
      given_ = ++taken_;
      return next_of_sequence_(sequence_, range);
    }
    const size_t wanted = given_ + (looks_ahead ? kAhead : 1);
    while (taken_ < wanted && next_of_sequence_(sequence_, &ring_[taken_ % kAhead]) == 0) ++taken_;
    if (given_ == taken_) return 1;
    *range = ring_[given_ % kAhead];
    ++given_;
    return 0;
  }
  /// The range given last, by its number, and those taken after it.
  [[nodiscard]] RowsAhead::Known known() const { return {list_, given_ - 1, taken_}; }
  /// REQUIRES: one of those after the range given last.
  [[nodiscard]] const KEY_MULTI_RANGE& At(size_t position) const {
    return ring_[position % kAhead];
  }

 private:
  static constexpr size_t kAhead = 64;  // more than RowsAhead asks for at once

  decltype(RANGE_SEQ_IF::next) next_of_sequence_ = nullptr;
  range_seq_t sequence_ = nullptr;
  std::array<KEY_MULTI_RANGE, kAhead> ring_;
  size_t given_ = 0;
  size_t taken_ = 0;
  uint32_t list_ = 0;
};

}  // namespace rowan
