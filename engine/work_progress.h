// SPDX-License-Identifier: GPL-2.0-only
// WorkProgress: how far a long piece of work is, for display (Session::ReportProgress),
// and how often such work looks whether it is to end.
// Thread safety: called by the thread that works.
#pragma once

#include <cstdint>

namespace rowan {

/// Rows or entries between two looks whether the work was interrupted.
inline constexpr uint64_t kInterruptionStride = 64;

enum class WorkPhase : uint8_t {
  kReadRows,    ///< rows of a table become entries or rows of another; in rows
  kBuildIndex,  ///< of sorted entries; in entries
  kCatchUp,     ///< rows that others changed; in rows
};

class WorkProgress {
 public:
  virtual ~WorkProgress() = default;
  /// The phase before has ended. `estimated` units of work; 0: unknown.
  virtual void Begin(WorkPhase phase, uint64_t estimated) = 0;
  /// Of the phase so far. Called now and then.
  virtual void Completed(uint64_t units) = 0;
};

}  // namespace rowan
