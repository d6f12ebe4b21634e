// SPDX-License-Identifier: GPL-2.0-only
// The threads that help sessions with scans which are evaluated in batches (plugin/blocks/): one
// pool for the server. They are no threads of the server's: they have no THD, and what they do must
// not need one.
// Thread safety: Start and Stop at the plugin's begin and end, the rest from any thread between.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/worker_pool.h"

namespace rowan {

/// As a limit: as many as there are processors, at most 8.
inline constexpr uint32_t kScanWorkersByProcessors = WorkerPool::kThreadsMax + 1;

/// No thread starts before it is needed.
void StartScanWorkers(uint32_t threads_max);
void StopScanWorkers();
/// May be called before the start, too: without effect.
void SetScanWorkersMax(uint32_t threads_max);
[[nodiscard]] uint32_t ScanWorkersMax();

/// Reads pieces of a scan until none is left: see WorkerPool::Run.
Status RunWithScanWorkers(uint32_t helpers_max, const WorkerPool::Step& step);
/// Within a step: the number of one that no other thread has, of as many as there are threads, each
/// with an atomic `taken`. Whoever has taken it stores false when done with it.
template <typename Strands>
size_t TakeStrand(const Strands& strands) {
  for (size_t i = 0;; i = (i + 1) % strands.size()) {
    if (!strands[i]->taken.exchange(true, std::memory_order_acquire)) return i;
  }
}
/// Scans that are read in pieces, and the pieces, for the counters.
void CountParallelScan();
void CountParallelPieces(uint64_t pieces);

struct ParallelFigures {
  uint64_t scans = 0;
  uint64_t pieces = 0;
  uint64_t pieces_of_workers = 0;
};
[[nodiscard]] ParallelFigures ReadParallelFigures();

}  // namespace rowan
