// SPDX-License-Identifier: GPL-2.0-only
// What finding and fixing a resident page costs: the bare table lookup, a shared fix with its
// release, an optimistic fix with its validation; over few pages (everything in the processor's
// caches) and over the whole pool, by number of threads. Options as in every program of Google
// Benchmark. The bar: a fix on a warm page takes at most 25 ns.
//
//   rowan-bench-page_table <folder>
#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstdio>
#include <vector>

#include "base/random.h"
#include "bench/parts/bench_instance.h"
#include "buffer/page_table.h"

namespace {

using namespace rowan;

constexpr uint32_t kPoolPages = 8192;
constexpr size_t kOrder = size_t{1} << 16;

/// Page numbers in random order, made beforehand so that the generator is not measured.
std::vector<PageId> RandomPages(const benchmark::State& state) {
  Random random(static_cast<uint64_t>(state.thread_index()) + 1);
  const auto pages = static_cast<uint64_t>(state.range(0));
  std::vector<PageId> order;
  for (size_t i = 0; i < kOrder; ++i) {
    order.push_back(BenchInstance::Id(static_cast<uint32_t>(random.Between(1, pages))));
  }
  return order;
}

void LookUp(benchmark::State& state, const PageTable* table) {
  const std::vector<PageId> order = RandomPages(state);
  size_t i = 0;
  for (auto _ : state) {
    const PageId page = order[i++ % kOrder];
    if (table->Lookup(page.Packed()) != page.page.value()) state.SkipWithError("not found");
  }
}

void FixShared(benchmark::State& state, BufferPool* pool) {
  const std::vector<PageId> order = RandomPages(state);
  size_t i = 0;
  for (auto _ : state) {
    const Result<PageGuard> guard = pool->Fix(order[i++ % kOrder], LatchMode::kShared);
    if (!guard.ok()) state.SkipWithError("a page cannot be fixed");
  }
}

void FixOptimistic(benchmark::State& state, BufferPool* pool) {
  const std::vector<PageId> order = RandomPages(state);
  size_t i = 0;
  for (auto _ : state) {
    OptimisticPage held;
    const Status status = pool->FixOptimistic(order[i++ % kOrder], FixHint::kNormal, &held);
    if (!status.ok() || !held.Validate()) state.SkipWithError("a page cannot be fixed");
  }
}

/// 16, 256 and all pages; one and two threads.
void Vary(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgName("pages")->Arg(16)->Arg(256)->Arg(kPoolPages - 2)->Threads(1)->Threads(2);
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s <folder>\n", argv[0]);
    return 2;
  }
  BenchInstance instance(argv[1], kPoolPages, kPoolPages - 1, {});
  PageTable table(kPoolPages);
  for (uint32_t page = 1; page < kPoolPages; ++page) {
    (void)table.InsertIfAbsent(BenchInstance::Id(page).Packed(), page);
  }
  Vary(benchmark::RegisterBenchmark("look_up", LookUp, &table));
  Vary(benchmark::RegisterBenchmark("fix_shared", FixShared, &instance.pool()));
  Vary(benchmark::RegisterBenchmark("fix_optimistic", FixOptimistic, &instance.pool()));
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
