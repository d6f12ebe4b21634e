// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/server/scan_workers.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>

namespace rowan {
namespace {

constexpr uint32_t kByProcessorsMax = 8;

WorkerPool* g_pool = nullptr;
std::atomic<uint64_t> g_scans{0};
std::atomic<uint64_t> g_pieces{0};

uint32_t LimitOf(uint32_t threads_max) {
  if (threads_max != kScanWorkersByProcessors) return threads_max;
  return std::clamp(std::thread::hardware_concurrency(), 1u, kByProcessorsMax);
}

}  // namespace

void StartScanWorkers(uint32_t threads_max) {
  g_pool = std::make_unique<WorkerPool>("scan-", LimitOf(threads_max)).release();
}

void StopScanWorkers() {
  const std::unique_ptr<WorkerPool> gone(g_pool);
  g_pool = nullptr;
}

void SetScanWorkersMax(uint32_t threads_max) {
  if (g_pool != nullptr) g_pool->SetThreadsMax(LimitOf(threads_max));
}

uint32_t ScanWorkersMax() { return g_pool == nullptr ? 0 : g_pool->threads_max(); }

Status RunWithScanWorkers(uint32_t helpers_max, const WorkerPool::Step& step) {
  return g_pool->Run(helpers_max, step);
}

void CountParallelScan() { ++g_scans; }
void CountParallelPieces(uint64_t pieces) { g_pieces += pieces; }

ParallelFigures ReadParallelFigures() {
  return {g_scans.load(), g_pieces.load(), g_pool == nullptr ? 0 : g_pool->steps_of_helpers()};
}

}  // namespace rowan
