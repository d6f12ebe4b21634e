// SPDX-License-Identifier: GPL-2.0-only
// Search in cold and warm nodes, and inserts into a warm one; options as in every program of Google
// Benchmark.
//
//   rowan-bench-node_search [megabytes of leaves, default 512]
//
// Cold: leaves are picked at random from more memory than any cache holds. Nodes are 70 % full; the
// composite keys are those of an index of (id, foreign key, primary key).
#include <benchmark/benchmark.h>
#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/random.h"
#include "btree/node.h"
#include "btree/node_edit.h"
#include "btree/node_search.h"

namespace rowan {
namespace {

constexpr size_t kPageBytes = 16384;
constexpr size_t kProbes = 400000;

struct KeyKind {
  const char* name;
  size_t value_bytes;
  std::string (*make)(uint64_t number);
};

std::string BigEndian(uint64_t number) {
  std::string text(8, '\0');
  StoreBe64(reinterpret_cast<std::byte*>(text.data()), number);
  return text;
}

std::string Composite(uint64_t number) {
  return BigEndian(number / 1000) + BigEndian(number / 10) + BigEndian(number);
}

std::string Url(uint64_t number) {
  uint64_t state = number;
  char text[96];
  const int length = std::snprintf(
      text, sizeof(text), "https://www.example.org/section-%06llu/article-%09llu/%04x",
      static_cast<unsigned long long>(number / 500), static_cast<unsigned long long>(number),
      static_cast<unsigned>(SplitMix64(&state) & 0xFFFF));
  return {text, static_cast<size_t>(length)};
}

/// Leaves one after the other in key order, each 70 % full.
struct Forest {
  std::byte* memory = nullptr;  // in huge pages, like the pool's frames; lives until the end
  std::vector<uint64_t> first_numbers;
  size_t leaf_count = 0;

  [[nodiscard]] MutableBytes Leaf(size_t i) const { return {memory + i * kPageBytes, kPageBytes}; }
};

/// Memory as the pool gets it.
std::byte* HugeMemory(size_t size_bytes) {
  void* memory =
      mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) std::abort();
  madvise(memory, size_bytes, MADV_HUGEPAGE);
  return static_cast<std::byte*>(memory);
}

Forest Plant(const KeyKind& kind, size_t megabytes) {
  Forest forest;
  forest.leaf_count = (megabytes << 20) / kPageBytes;
  forest.memory = HugeMemory(forest.leaf_count * kPageBytes);
  const std::string value(kind.value_bytes, 'v');
  uint64_t number = 1'000'000;
  for (size_t i = 0; i < forest.leaf_count; ++i) {
    const std::string low = kind.make(number);
    const size_t per_leaf =
        kPageBytes * 7 / 10 / (low.size() / 2 + kind.value_bytes + node_layout::kSlotBytes);
    std::string high = kind.make(number + per_leaf);
    NodeBounds bounds;
    bounds.high = AsBytes(high);
    bounds.prefix = AsBytes(high).first(CommonPrefix(AsBytes(low), AsBytes(high)));
    NodeBuilder builder(forest.Leaf(i), {{}, IndexId(1), 0, kNoPage, kNoTxn}, bounds);
    forest.first_numbers.push_back(number);
    while (kind.make(number) < high && builder.used_bytes() < kPageBytes * 7 / 10 &&
           builder.Append(AsBytes(kind.make(number)), {}, AsBytes(value))) {
      ++number;
    }
  }
  forest.first_numbers.push_back(number);
  return forest;
}

/// Keys that are there, in the order of their use, so that only leaves are cold.
class Probes {
 public:
  Probes(const Forest& forest, const KeyKind& kind, size_t leaves) : forest_(&forest) {
    Random random(1);
    for (size_t i = 0; i < kProbes; ++i) {
      const size_t leaf = random.Below(leaves);
      const uint64_t first = forest.first_numbers[leaf];
      const uint64_t count = forest.first_numbers[leaf + 1] - first;
      const std::string key = kind.make(first + random.Below(count));
      probes_.push_back({leaf, keys_.size(), key.size()});
      keys_ += key;
    }
  }
  [[nodiscard]] bool Search(size_t i) const {
    const Probe& probe = probes_[i % kProbes];
    const std::string_view key = std::string_view(keys_).substr(probe.offset, probe.key_bytes);
    return SearchNode(forest_->Leaf(probe.leaf), AsBytes(key)).exact;
  }

 private:
  struct Probe {
    size_t leaf;
    size_t offset;
    size_t key_bytes;
  };
  const Forest* forest_;
  std::vector<Probe> probes_;
  std::string keys_;
};

void SearchLeaves(benchmark::State& state, const Forest& forest, const KeyKind& kind,
                  size_t leaves) {
  const Probes probes(forest, kind, leaves);
  size_t i = 0;
  for (auto _ : state) {
    if (!probes.Search(i++)) state.SkipWithError("a key is not found");
  }
  state.counters["keys_per_leaf"] = static_cast<double>(NodeView(forest.Leaf(0)).count());
}

void SearchAndInsert(benchmark::State& state) {
  constexpr size_t kKeys = 90;
  std::vector<std::byte> page(kPageBytes);
  const std::string value(100, 'v');
  Random random(2);
  std::vector<std::string> keys;
  for (size_t i = 0; i < 1000 * kKeys; ++i) keys.push_back(BigEndian(random.Next()));
  size_t next = 0;
  for (auto _ : state) {
    if (next % kKeys == 0) InitNode(page, {}, IndexId(1), 0);  // a 90th of the time
    const Bytes key = AsBytes(keys[next++ % keys.size()]);
    const SlotSearch slot = SearchNode(page, key);
    if (!InsertEntry(page, slot.slot, key, AsBytes(value), TxnId(1))) {
      state.SkipWithError("the leaf is full");
    }
  }
}

void Register(size_t megabytes) {
  static const KeyKind kinds[] = {{"composite/100_byte_values", 100, Composite},
                                  {"composite/8_byte_values", 8, Composite},
                                  {"url/100_byte_values", 100, Url},
                                  {"8_byte_ascending/100_byte_values", 100, BigEndian}};
  static std::vector<Forest> forests;
  for (const KeyKind& kind : kinds) forests.push_back(Plant(kind, megabytes));
  for (size_t i = 0; i < forests.size(); ++i) {
    const Forest& forest = forests[i];
    const std::string name = std::string("search/") + kinds[i].name;
    benchmark::RegisterBenchmark((name + "/cold").c_str(), SearchLeaves, forest, kinds[i],
                                 forest.leaf_count);
    benchmark::RegisterBenchmark((name + "/warm").c_str(), SearchLeaves, forest, kinds[i], 16);
  }
  benchmark::RegisterBenchmark("search_and_insert/warm", SearchAndInsert);
}

}  // namespace
}  // namespace rowan

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  rowan::Register(argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 512);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
