// SPDX-License-Identifier: GPL-2.0-only
// ReferencesAhead: the row references that a multi-range read has collected and sorted in a buffer,
// and hands to rnd_pos one after the other: so those that follow are known. How many there are is
// known from how many a second handler, which collects them, has put together. Where that is only
// an upper bound, the buffer has been full, and what lies behind are references of an earlier turn.
// Thread safety: one thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "engine/rows_ahead.h"

namespace rowan {

class ReferencesAhead {
 public:
  ReferencesAhead() = default;
  /// References of `step` bytes each in a buffer that lives until another one is set; `*put` counts
  /// those put together, from now on too.
  ReferencesAhead(const unsigned char* buffer, size_t buffer_bytes, size_t step,
                  const uint64_t* put, uint64_t put_before)
      : buffer_(buffer), step_(step), most_(buffer_bytes / step), put_(put), seen_(put_before) {}

  [[nodiscard]] bool known() const { return buffer_ != nullptr; }
  /// As a place among them; size 0: it is none of them.
  RowsAhead::Known Find(const unsigned char* reference) {
    if (const uint64_t put = *put_; put != seen_) {
      count_ = static_cast<size_t>(std::min<uint64_t>(most_, put - seen_));
      seen_ = put;
      ++turn_;
    }
    if (reference < buffer_ || reference >= buffer_ + count_ * step_) return {};
    return {turn_, static_cast<size_t>(reference - buffer_) / step_, count_};
  }
  [[nodiscard]] const unsigned char* At(size_t position) const {
    return buffer_ + position * step_;
  }

 private:
  const unsigned char* buffer_ = nullptr;
  size_t step_ = 1;
  size_t most_ = 0;
  const uint64_t* put_ = nullptr;
  uint64_t seen_ = 0;
  size_t count_ = 0;
  uint32_t turn_ = 0;
};

}  // namespace rowan
