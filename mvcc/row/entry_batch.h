// SPDX-License-Identifier: GPL-2.0-only
// EntryBatch: entries of an index as a scan has copied them, one after the other in one piece of
// memory. Nothing is decoded. Thread safety: plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "mvcc/row/batch_item.h"

namespace rowan {

/// Valid until the next call on the cursor that gave it.
struct EntryBatch {
  const std::byte* bytes = nullptr;
  std::span<const BatchItem> items;

  [[nodiscard]] size_t size() const { return items.size(); }
  /// The key as callers know it, without repeat.
  [[nodiscard]] Bytes KeyOf(size_t item) const {
    return {bytes + items[item].key_offset, items[item].key_bytes};
  }
  /// Clustered: row; secondary: payload.
  [[nodiscard]] Bytes ValueOf(size_t item) const {
    return {bytes + items[item].value_offset, items[item].value_bytes};
  }
};

}  // namespace rowan
