// SPDX-License-Identifier: GPL-2.0-only
// What is locked: one key of an index, known by its hash, or a piece of the key space. Thread
// safety: plain values.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "base/ids.h"

namespace rowan {

struct LockKey {
  IndexId index;
  uint64_t key_hash = 0;

  constexpr bool operator==(const LockKey&) const = default;
};
/// A lock key with the key itself, with which ranges are searched. The caller keeps the bytes.
struct LockTarget : LockKey {
  LockTarget(LockKey id, Bytes key_bytes = {}) : LockKey(id), key(key_bytes) {}
  Bytes key;
};
/// Of a full key in an index, without repeat.
LockTarget MakeLockKey(IndexId index, Bytes key);

/// Which key at the edge of a piece is locked against inserts only (a dead or absent record).
enum class GapEdge : uint8_t { kNone, kFirst, kLast };
/// A piece of the key space for a range lock: [low, high), keys without repeats.
struct RangePiece {
  Bytes low;
  Bytes high;
  bool unbounded = false;  ///< to the end of the index
  GapEdge gap_edge = GapEdge::kNone;
};

}  // namespace rowan
