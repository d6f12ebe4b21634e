// SPDX-License-Identifier: GPL-2.0-only
// WorkProgress: the progress of long work, for display (Session::ReportProgress), and how often
// such work checks whether to stop.
// Thread safety: called by the thread that works.
#pragma once

#include <cstdint>

namespace rowan {

/// Rows or entries between two checks for an interruption.
inline constexpr uint64_t kInterruptionStride = 64;

enum class WorkPhase : uint8_t {
  kReadRows,    ///< turns rows of a table into entries or rows of another; in rows
  kBuildIndex,  ///< of sorted entries; in entries
  kCatchUp,     ///< rows that others changed; in rows
};

class WorkProgress {
 public:
  virtual ~WorkProgress() = default;
  /// The previous phase has ended. `estimated` units of work; 0: unknown.
  virtual void Begin(WorkPhase phase, uint64_t estimated) = 0;
  /// Units done in the current phase. Called now and then.
  virtual void Completed(uint64_t units) = 0;
};

}  // namespace rowan
