// SPDX-License-Identifier: GPL-2.0-only
// FlushReason: why pages of the pool are written, for the statistics of bytes written. Changes by
// DDL, purge, rollback and scrubbing stay in the pool until one of these occurs.
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "base/write_cause.h"

namespace rowan {

enum class FlushReason : uint32_t {
  kCheckpoint,   ///< the continuous checkpoint advances
  kLogFull,      ///< it must advance, or the log would be full
  kEviction,     ///< frames are wanted soon
  kNoFreeFrame,  ///< a session waits for one
  kResize,       ///< the pool shrinks
  kShutdown,
  kStart,  ///< a new instance, or pages left by redo and repair
};

/// The cause of writing a page of `space`.
constexpr WriteCause CauseOf(SpaceId space, FlushReason reason) {
  if (IsTemporary(space)) return WriteCause::kTemporaryPages;
  if (space == kSystemSpace) return WriteCause::kCatalog;
  const WriteCause first =
      space == kUndoSpace ? WriteCause::kUndoCheckpoint : WriteCause::kDataCheckpoint;
  return static_cast<WriteCause>(static_cast<uint32_t>(first) + static_cast<uint32_t>(reason));
}

static_assert(CauseOf(kUndoSpace, FlushReason::kEviction) == WriteCause::kUndoEviction);
static_assert(CauseOf(kUndoSpace, FlushReason::kStart) == WriteCause::kUndoStart);
static_assert(CauseOf(SpaceId(kUndoSpace.value() + 1), FlushReason::kLogFull) ==
              WriteCause::kDataLogFull);
static_assert(CauseOf(SpaceId(kUndoSpace.value() + 1), FlushReason::kStart) ==
              WriteCause::kDataStart);

}  // namespace rowan
