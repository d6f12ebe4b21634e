// SPDX-License-Identifier: GPL-2.0-only
// PeekedEntries: keys of entries that a scan which locks row by row will come to, for RowsAhead.
// They are copied from the scan's leaf some at a time, and numbered through the scan. What comes
// and goes meanwhile makes them inexact: they are hints. Thread safety: one thread.
#pragma once

#include <cstddef>
#include <vector>

#include "base/bytes.h"
#include "engine/row_codec.h"
#include "engine/rows_ahead.h"
#include "mvcc/row/version_cursor.h"

namespace rowan {

class PeekedEntries {
 public:
  /// Another scan begins.
  void Clear() {
    keys_.clear();
    first_ = number_ = 0;
    more_ = true;
  }
  /// The entry that the scan is on, which has this key, and those known to follow.
  RowsAhead::Known Find(VersionCursor* scan, Bytes key);
  /// Key of an entry after the one found last. REQUIRES: position < size.
  [[nodiscard]] Bytes At(size_t position) const { return keys_[position - first_]; }

 private:
  void Peek(VersionCursor* scan);

  std::vector<ByteBuffer> keys_;
  size_t first_ = 0;   ///< number of the first key
  size_t number_ = 0;  ///< of the current entry
  bool more_ = true;   ///< the leaf may have more than was copied last
};

}  // namespace rowan
