// SPDX-License-Identifier: GPL-2.0-only
// What finding and fixing a resident page costs, in nanoseconds: the bare table lookup, a shared
// fix with its release, an optimistic fix with its validation; over few pages (everything in the
// processor's caches) and over the whole pool, by number of threads.
// The bar: a fix on a warm page takes at most 25 ns.
//
//   rowan-bench-page_table <folder>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

#include "base/random.h"
#include "bench/parts/bench_instance.h"
#include "buffer/page_table.h"

namespace {

using namespace rowan;

constexpr uint32_t kPoolPages = 8192;
constexpr uint32_t kOps = 4'000'000;

/// Page numbers in random order, made beforehand so that the generator is not measured.
std::vector<uint32_t> RandomPages(uint32_t pages, uint64_t seed) {
  Random random(seed);
  std::vector<uint32_t> order(1u << 16);
  for (uint32_t& page : order) page = static_cast<uint32_t>(random.Between(1, pages));
  return order;
}

/// Processor time of this thread: on a busy machine wall time would measure the others.
uint64_t ThreadNanos() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

/// Best of five rounds, in nanoseconds per operation; all threads do the same.
template <typename Operation>
double Measure(uint32_t threads, uint32_t pages, Operation operation) {
  double best = 1e9;
  for (int round = 0; round < 5; ++round) {
    std::vector<std::thread> running;
    std::atomic<uint64_t> nanos{0};
    for (uint32_t t = 0; t < threads; ++t) {
      running.emplace_back([&, t] {
        const std::vector<uint32_t> order = RandomPages(pages, t + 1);
        const uint64_t start = ThreadNanos();
        for (uint32_t i = 0; i < kOps; ++i) operation(order[i & 0xFFFF]);
        nanos += ThreadNanos() - start;
      });
    }
    for (auto& thread : running) thread.join();
    best = std::min(best, static_cast<double>(nanos.load()) / threads / kOps);
  }
  return best;
}

void Row(const char* what, const std::function<double(uint32_t, uint32_t)>& measure) {
  std::printf("%-26s", what);
  for (const uint32_t threads : {1u, 2u}) {
    for (const uint32_t pages : {16u, 256u, kPoolPages - 2}) {
      std::printf(" %9.1f", measure(threads, pages));
    }
  }
  std::printf("\n");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s <folder>\n", argv[0]);
    return 2;
  }
  BenchInstance instance(argv[1], kPoolPages, kPoolPages - 1);
  BufferPool& pool = instance.pool();
  PageTable table(kPoolPages);
  for (uint32_t page = 1; page < kPoolPages; ++page) {
    (void)table.InsertIfAbsent(BenchInstance::Id(page).Packed(), page);
  }
  std::printf("ns per operation, 1 and 2 threads over 16, 256 and all pages\n");
  Row("table lookup", [&](uint32_t threads, uint32_t pages) {
    return Measure(threads, pages, [&](uint32_t page) {
      if (table.Lookup(BenchInstance::Id(page).Packed()) != page) std::abort();
    });
  });
  Row("fix shared + release", [&](uint32_t threads, uint32_t pages) {
    return Measure(threads, pages, [&](uint32_t page) {
      const Result<PageGuard> guard = pool.Fix(BenchInstance::Id(page), LatchMode::kShared);
      if (!guard.ok()) std::abort();
    });
  });
  Row("fix optimistic + validate", [&](uint32_t threads, uint32_t pages) {
    return Measure(threads, pages, [&](uint32_t page) {
      OptimisticPage held;
      const Status status =
          pool.FixOptimistic(BenchInstance::Id(page), FixHint::kNormal, &held);
      if (!status.ok() || !held.Validate()) std::abort();
    });
  });
  return 0;
}
