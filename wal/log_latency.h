// SPDX-License-Identifier: GPL-2.0-only
// How long commits and their steps to the disk took: one histogram for each sync method and phase.
// A method that writes and syncs in one step (dsync, direct_dsync, uring) counts the whole step as
// a sync; its writes are those of sessions that only need their bytes handed to the kernel.
// Thread safety: everything from any thread; no locks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "wal/latency_histogram.h"
#include "wal/log_options.h"

namespace rowan {

enum class LogPhase : uint32_t {
  kWrite,   ///< one write call
  kSync,    ///< making the written bytes durable, in all files affected
  kCommit,  ///< a whole commit as seen by its transaction, including its wait
};
inline constexpr size_t kLogPhases = 3;
const char* LogPhaseName(LogPhase phase);

class LogLatency {
 public:
  void Add(LogSyncMethod method, LogPhase phase, uint64_t nanos) {
    histograms_[Index(method, phase)].Add(nanos);
  }
  [[nodiscard]] const LatencyHistogram& Of(LogSyncMethod method, LogPhase phase) const {
    return histograms_[Index(method, phase)];
  }

 private:
  static constexpr size_t Index(LogSyncMethod method, LogPhase phase) {
    return static_cast<size_t>(method) * kLogPhases + static_cast<size_t>(phase);
  }
  std::array<LatencyHistogram, kLogSyncMethods * kLogPhases> histograms_;
};

}  // namespace rowan
