// SPDX-License-Identifier: GPL-2.0-only
// What it costs to ask whether a snapshot sees a writer, when one writer has stayed open while
// three times as many transactions as the commit ring holds came and went: then no leaf changed
// since is decided as a whole. `lately` asks about writers that the ring still knows, `long ago`
// about those that it does not. Options as in every program of Google Benchmark.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <vector>

#include "base/random.h"
#include "mvcc/txn_manager.h"

namespace {

using namespace rowan;

constexpr uint64_t kTransactions = 3 * CommitRing::kSize;
constexpr size_t kOrder = size_t{1} << 16;

/// One writer stays open while many others come and go.
class Server {
 public:
  Server() : manager_(nullptr, nullptr) {
    Open(&idle_);
    for (uint64_t i = 0; i < kTransactions; ++i) {
      Txn txn;
      Open(&txn);
      manager_.Commit(&txn, Durability::kBackground, false).Ignore();
    }
    manager_.RefreshHorizon();
  }
  TxnManager* manager() { return &manager_; }
  /// Ids of writers, `from` to `to` transactions after the one that stays open.
  [[nodiscard]] std::vector<TxnId> Writers(uint64_t seed, uint64_t from, uint64_t to) const {
    Random random(seed);
    std::vector<TxnId> ids;
    for (size_t i = 0; i < kOrder; ++i) {
      ids.emplace_back(idle_.txn_id().value() + random.Between(from, to));
    }
    return ids;
  }

 private:
  void Open(Txn* txn) { manager_.AssignId(txn).Ignore(); }

  TxnManager manager_;
  Txn idle_;
};

void AskVisible(benchmark::State& state, Server* server, uint64_t from, uint64_t to) {
  const auto seed = static_cast<uint64_t>(state.thread_index()) + 1;
  const std::vector<TxnId> writers = server->Writers(seed, from, to);
  Txn reader;
  server->manager()->OpenSnapshot(&reader);
  size_t i = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        server->manager()->IsVisible(reader.snapshot, writers[i++ % kOrder], kNoTxn));
  }
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  Server server;
  const auto add = [&server](const char* name, uint64_t from, uint64_t to) {
    benchmark::RegisterBenchmark(name, AskVisible, &server, from, to)
        ->Threads(1)
        ->Threads(2)
        ->Threads(8)
        ->UseRealTime();
  };
  add("lately", kTransactions - 100000, kTransactions);
  add("long ago", 1, 100000);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
