// SPDX-License-Identifier: GPL-2.0-only
// The ids and positions that all layers share. Sizes on disk are given where they differ.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>

#include "base/strong_id.h"

namespace rowan {

/// One instance, random: identifies the files that belong together.
using InstanceId = std::array<uint8_t, 16>;
/// Byte offset in the endless redo log stream. 0 is "never": no byte of the log has it.
using Lsn = StrongId<struct LsnTag, uint64_t>;
/// One tablespace file. Never reused within the life of an instance.
using SpaceId = StrongId<struct SpaceIdTag, uint32_t>;
/// Page index inside a tablespace; page 0 is the space header and never a tree page, so 0 is
/// "none".
using PageNumber = StrongId<struct PageNumberTag, uint32_t>;
/// Assigned at a transaction's first write; 6 bytes on disk. 0 is "visible to all".
using TxnId = StrongId<struct TxnIdTag, uint64_t>;
/// Commit sequence number: position in the order of commits.
using Csn = StrongId<struct CsnTag, uint64_t>;
/// One B-tree. Never reused within the life of an instance.
using IndexId = StrongId<struct IndexIdTag, uint64_t>;
/// One table; the server calls it se_private_id.
using TableId = StrongId<struct TableIdTag, uint64_t>;

inline constexpr Lsn kNoLsn{0};
[[nodiscard]] constexpr Lsn operator+(Lsn lsn, uint64_t bytes) { return Lsn(lsn.value() + bytes); }
[[nodiscard]] constexpr Lsn operator-(Lsn lsn, uint64_t bytes) { return Lsn(lsn.value() - bytes); }
constexpr Lsn& operator+=(Lsn& lsn, uint64_t bytes) { return lsn = lsn + bytes; }
/// Bytes of the log from `from` to `to`.
[[nodiscard]] constexpr uint64_t operator-(Lsn to, Lsn from) { return to.value() - from.value(); }
/// An atomic position costs what an atomic number costs.
static_assert(std::atomic<Lsn>::is_always_lock_free && sizeof(std::atomic<Lsn>) == 8);
inline constexpr PageNumber kNoPage{0};
inline constexpr IndexId kNoIndex{0};
inline constexpr TxnId kNoTxn{0};
inline constexpr uint64_t kTxnIdLimit = uint64_t{1} << 48;

/// Identity of a page: what the page header must agree with on every read.
struct PageId {
  SpaceId space;
  PageNumber page;

  constexpr auto operator<=>(const PageId&) const = default;
  /// Both halves in one word: space in the high 32 bits.
  [[nodiscard]] constexpr uint64_t Packed() const {
    return (uint64_t{space.value()} << 32) | page.value();
  }
  [[nodiscard]] static constexpr PageId Unpack(uint64_t packed) {
    return {SpaceId(static_cast<uint32_t>(packed >> 32)),
            PageNumber(static_cast<uint32_t>(packed))};
  }
};

/// Spaces with a fixed meaning; tables start at kFirstTableSpace.
inline constexpr SpaceId kSystemSpace{1};
inline constexpr SpaceId kUndoSpace{2};
inline constexpr SpaceId kFirstTableSpace{16};
/// Spaces from here on are temporary: never logged, never synced, gone when the engine ends.
/// Assigned again in each run.
inline constexpr SpaceId kFirstTemporarySpace{0xF000'0000};
/// Undo of changes in temporary tables.
inline constexpr SpaceId kTemporaryUndoSpace = kFirstTemporarySpace;

[[nodiscard]] constexpr bool IsTemporary(SpaceId space) { return space >= kFirstTemporarySpace; }

/// Likewise tables.
inline constexpr TableId kFirstTemporaryTable{uint64_t{1} << 62};
[[nodiscard]] constexpr bool IsTemporary(TableId table) { return table >= kFirstTemporaryTable; }

}  // namespace rowan
