// SPDX-License-Identifier: GPL-2.0-only
// One entry of a secondary index, as its users encode it; in the tree it follows a header
// (mvcc/row/row_header.h). Plain data.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.h"

namespace rowan {

struct IndexEntry {
  uint32_t index = 0;  ///< number of the index in its table, >= 1; 0 where the index is given
  Bytes key{};         ///< index columns + clustered key
  Bytes payload{};     ///< original bytes that the key loses
  /// The first bytes of the key that are the unique value; 0: not unique, or it holds a NULL.
  uint32_t unique_prefix_bytes = 0;
  /// Made of more than the row: the row may have another one, made under other conditions (in
  /// MySQL: an expression that depends on session settings).
  bool computed = false;
};

/// The same with its own bytes, which are reused.
struct EncodedEntry {
  std::vector<std::byte> key{};
  std::vector<std::byte> payload{};
  uint32_t unique_prefix_bytes = 0;
  bool computed = false;

  [[nodiscard]] IndexEntry View(uint32_t index = 0) const {
    return {index, key, payload, unique_prefix_bytes, computed};
  }
};

}  // namespace rowan
