// SPDX-License-Identifier: GPL-2.0-only
// What a pool much smaller than its data sustains when every page that leaves it is dirty: changes
// of random pages per second, by number of threads, and how long the slowest one took. Sessions
// outrun the cleaners here and write pages themselves (`waits`: how often one found no frame).
//
//   rowan-bench-eviction <folder> [seconds a line] [threads ...]
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/counters.h"
#include "base/random.h"
#include "bench/parts/bench_instance.h"

namespace {

using namespace rowan;

constexpr uint32_t kPoolPages = 1024;
constexpr uint32_t kSpacePages = 10240;
constexpr uint32_t kFilledPercent = 69;

struct alignas(64) Figures {
  uint64_t changes = 0;
  uint64_t longest_nanos = 0;
};

Figures Change(BenchInstance* instance, uint64_t seed, const std::atomic<bool>* stop) {
  Figures figures;
  Random random(seed);
  while (!stop->load(std::memory_order_relaxed)) {
    const auto page = static_cast<uint32_t>(random.Between(1, kSpacePages - 1));
    const uint64_t begin = MonotonicNanos();
    instance->Touch(page, figures.changes);
    figures.longest_nanos = std::max(figures.longest_nanos, MonotonicNanos() - begin);
    ++figures.changes;
  }
  return figures;
}

void Measure(BenchInstance* instance, uint32_t thread_count, double seconds) {
  const uint64_t waits = ReadCounter(Counter::kFreeFrameWaits);
  const uint64_t written = ReadCounter(Counter::kPagesWritten);
  std::atomic<bool> stop{false};
  std::vector<Figures> all(thread_count);
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < thread_count; ++i) {
    threads.emplace_back([&, i] { all[i] = Change(instance, 7 + i, &stop); });
  }
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  stop = true;
  for (std::thread& thread : threads) thread.join();
  Figures sum;
  for (const Figures& figures : all) {
    sum.changes += figures.changes;
    sum.longest_nanos = std::max(sum.longest_nanos, figures.longest_nanos);
  }
  std::printf("%7u  %9.0f  %15.0f  %10.1f  %5llu\n", thread_count,
              static_cast<double>(sum.changes) / seconds,
              static_cast<double>(ReadCounter(Counter::kPagesWritten) - written) / seconds,
              static_cast<double>(sum.longest_nanos) / 1e6,
              static_cast<unsigned long long>(ReadCounter(Counter::kFreeFrameWaits) - waits));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s <folder> [seconds a line] [threads ...]\n", argv[0]);
    return 2;
  }
  const double seconds = argc > 2 ? std::max(0.1, std::atof(argv[2])) : 2;
  std::vector<uint32_t> counts;
  for (int i = 3; i < argc; ++i) counts.push_back(static_cast<uint32_t>(std::atoi(argv[i])));
  if (counts.empty()) counts = {1, 4, 16, 64};
  BenchInstance instance(argv[1], kPoolPages, kSpacePages,
                         {.fill_percent = kFilledPercent, .background = true});
  std::printf("threads  changes/s  pages written/s  longest ms  waits\n");
  for (const uint32_t count : counts) Measure(&instance, std::max(1u, count), seconds);
  return 0;
}
