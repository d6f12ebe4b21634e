// SPDX-License-Identifier: GPL-2.0-only
// RowImage: one row as the engine stores it. Buffers are reused. Plain data.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/row_codec.h"

namespace rowan {

/// Clustered key, row, and each secondary entry.
struct RowImage {
  struct Entry : EncodedEntry {
    bool has_several = false;  ///< of an index that has `elements` instead
  };
  struct Element {
    uint32_t index_number = 0;
    EncodedEntry entry{};
  };
  ByteBuffer key;
  ByteBuffer row;
  std::vector<Entry> entries;     ///< [0] unused: the clustered index
  std::vector<Element> elements;  ///< entries of indexes that have several, by index and key

  [[nodiscard]] IndexEntry View(uint32_t index_number) const {
    return entries[index_number].View(index_number);
  }
};

}  // namespace rowan
