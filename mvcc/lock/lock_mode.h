// SPDX-License-Identifier: GPL-2.0-only
// What a row lock asks for, which locks conflict, and which one makes another unnecessary. The gap
// part of a lock has no mode: a gap is only ever locked against inserts. Thread safety: pure
// functions.
#pragma once

#include <cstdint>

namespace rowan {

enum class LockMode : uint8_t { kShared, kExclusive };
enum class LockKind : uint8_t {
  kRecord,           ///< the record, not the gap before it
  kGap,              ///< inserts of the key
  kNextKey,          ///< both: what a range holds of each key in it
  kInsertIntention,  ///< asked for by inserts into a gap
  /// a unique key's value (columns without primary key): serialises its inserters
  kUniqueValue,
};

enum class WaitPolicy : uint8_t { kWait, kNoWait, kSkipLocked };

[[nodiscard]] constexpr bool HasRecordPart(LockKind kind) {
  return kind == LockKind::kRecord || kind == LockKind::kNextKey;
}
[[nodiscard]] constexpr bool HasGapPart(LockKind kind) {
  return kind == LockKind::kGap || kind == LockKind::kNextKey;
}
[[nodiscard]] constexpr bool ModesConflict(LockMode left, LockMode right) {
  return left == LockMode::kExclusive || right == LockMode::kExclusive;
}

/// Must `wanted` of one transaction wait for `held` of another on the same key?
[[nodiscard]] constexpr bool LocksConflict(LockMode held_mode, LockKind held, LockMode wanted_mode,
                                           LockKind wanted) {
  if (wanted == LockKind::kInsertIntention) return HasGapPart(held);
  if (held == LockKind::kInsertIntention) return false;
  const bool same_part = (HasRecordPart(held) && HasRecordPart(wanted)) ||
                         (held == LockKind::kUniqueValue && wanted == LockKind::kUniqueValue);
  return same_part && ModesConflict(held_mode, wanted_mode);
}

/// Does holding `held` give everything that `wanted` asks for?
[[nodiscard]] constexpr bool LockCovers(LockMode held_mode, LockKind held, LockMode wanted_mode,
                                        LockKind wanted) {
  const bool strong = held_mode == LockMode::kExclusive || wanted_mode == LockMode::kShared;
  switch (wanted) {
    case LockKind::kRecord: return HasRecordPart(held) && strong;
    case LockKind::kGap: return HasGapPart(held);
    case LockKind::kNextKey: return held == LockKind::kNextKey && strong;
    case LockKind::kUniqueValue: return held == LockKind::kUniqueValue && strong;
    case LockKind::kInsertIntention: return false;
  }
  return false;
}

}  // namespace rowan
