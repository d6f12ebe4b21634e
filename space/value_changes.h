// SPDX-License-Identifier: GPL-2.0-only
// Changes of a byte string that keeps its size, as a list of what is where (docs/formats/blob.md),
// in ascending order and without overlap:
//   varint: bytes between the end of the previous change (or the value's start) and this one
//   varint: bytes of this change, at least 1
//   the bytes
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/bytes.h"

namespace rowan {

/// The bytes [begin, end) of a value.
struct ByteRange {
  uint64_t begin = 0;
  uint64_t end = 0;

  bool operator==(const ByteRange&) const = default;
};
using ByteRanges = std::vector<ByteRange>;

/// Where two values of equal size differ. False: the list, or `*ranges` beyond a few KB, would take
/// more than `bytes_max` bytes; `*ranges` is then incomplete. REQUIRES: `*ranges` is empty.
bool FindDifferences(Bytes before, Bytes after, uint64_t bytes_max, ByteRanges* ranges);
/// Appends the ranges that a list changes. False: it is malformed, or reaches beyond the value.
bool AppendRangesOf(Bytes changes, uint64_t value_bytes, ByteRanges* ranges);
/// Sorts the ranges and joins those that overlap or are so close that one is shorter than two.
void JoinRanges(ByteRanges* ranges);

/// For joined ranges: the bytes that their list takes, and the list of what `value` has there.
[[nodiscard]] uint64_t ChangesBytes(const ByteRanges& ranges);
void AppendChanges(const ByteRanges& ranges, Bytes value, std::vector<std::byte>* changes);
/// Writes the bytes of a list into a value. False: it is malformed, or reaches beyond the value.
[[nodiscard]] bool ApplyChanges(Bytes changes, MutableBytes value);

}  // namespace rowan
