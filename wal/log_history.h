// SPDX-License-Identifier: GPL-2.0-only
// LogHistory: the runs of an instance, oldest first, each with the position from which the log is
// its own. A copy of an instance, however it was made, has the same runs up to where the two
// diverge: from then on each has runs of its own, because every run draws an id. So the ids alone
// tell whether a state of one is in the history of the other.
//
// A run on disk, little-endian:
//   offset size
//   0      16   id, random; zeros: no more runs
//   16     8    LSN where its part of the log begins
// Thread safety: plain data and functions.
#pragma once

#include <cstddef>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"

namespace rowan {

struct LogRun {
  InstanceId id{};  ///< of the run; the instance has an id of its own
  Lsn begin;
  bool operator==(const LogRun&) const = default;
};
using LogHistory = std::vector<LogRun>;

inline constexpr size_t kLogRunBytes = 24;
/// Older runs are forgotten.
inline constexpr size_t kLogRunsMax = 128;

/// Random; for instances and for runs.
[[nodiscard]] InstanceId DrawId();

/// A run begins: what is appended from `begin` on is its own.
void AddRun(LogHistory* history, Lsn begin);
/// Whether the log up to `end`, as the newest run of `past` left it, is part of `history`, whose
/// log ends at `tail`. Also false when that run has been forgotten.
[[nodiscard]] bool IsPast(const LogHistory& past, Lsn end, const LogHistory& history, Lsn tail);

/// REQUIRES: kLogRunsMax * kLogRunBytes bytes.
void StoreHistory(std::byte* bytes, const LogHistory& history);
[[nodiscard]] LogHistory LoadHistory(const std::byte* bytes);

}  // namespace rowan
