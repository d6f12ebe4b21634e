// SPDX-License-Identifier: GPL-2.0-only
// Search in cold and warm nodes, and inserts into a warm tree. Prints nanoseconds per operation.
//
//   rowan-bench-node_search [megabytes of leaves, default 512]
//
// Cold: leaves are picked at random from more memory than any cache holds, keys as in an index of
// (id, foreign key, primary key), 70 % full, second fastest of seven runs.
#include <sys/mman.h>
#include <time.h>

#include <algorithm>
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
constexpr int kRuns = 7;
constexpr size_t kSearches = 400000;

/// Time of this thread on a processor: other load on the machine does not count.
uint64_t CpuNanos() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

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
  void* memory = mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                      -1, 0);
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

double Nanos(const Forest& forest, const KeyKind& kind, size_t leaves) {
  struct Probe {
    size_t leaf;
    size_t offset;
    size_t key_bytes;
  };
  std::vector<Probe> probes;
  std::string keys;  // in the order of use, so that only leaves are cold
  Random random(1);
  for (size_t i = 0; i < kSearches; ++i) {
    const size_t leaf = random.Below(leaves);
    const uint64_t first = forest.first_numbers[leaf];
    const std::string key =
        kind.make(first + random.Below(forest.first_numbers[leaf + 1] - first));
    probes.push_back({leaf, keys.size(), key.size()});
    keys += key;
  }
  std::vector<double> runs;
  uint64_t found = 0;
  for (int run = 0; run < kRuns; ++run) {
    const uint64_t start = CpuNanos();
    for (const Probe& probe : probes) {
      const Bytes key = AsBytes(std::string_view(keys).substr(probe.offset, probe.key_bytes));
      found += SearchNode(forest.Leaf(probe.leaf), key).exact ? 1 : 0;
    }
    runs.push_back(static_cast<double>(CpuNanos() - start) / kSearches);
  }
  if (found != uint64_t{kSearches} * kRuns) std::abort();
  std::sort(runs.begin(), runs.end());
  return runs[1];
}

double InsertNanos() {
  std::vector<std::byte> page(kPageBytes);
  constexpr int kRounds = 2000;
  const std::string value(100, 'v');
  uint64_t operations = 0;
  Random random(2);
  uint64_t spent = 0;
  for (int round = 0; round < kRounds; ++round) {
    InitNode(page, {}, IndexId(1), 0);
    std::vector<std::string> keys;
    for (int i = 0; i < 90; ++i) keys.push_back(BigEndian(random.Next()));
    const uint64_t start = CpuNanos();
    for (const std::string& key : keys) {
      const SlotSearch slot = SearchNode(page, AsBytes(key));
      if (!InsertEntry(page, slot.slot, AsBytes(key), AsBytes(value), TxnId(1))) std::abort();
    }
    spent += CpuNanos() - start;
    operations += keys.size();
  }
  return static_cast<double>(spent) / static_cast<double>(operations);
}

void Run(size_t megabytes) {
  const KeyKind kinds[] = {{"composite, 100 B values", 100, Composite},
                           {"composite, 8 B values", 8, Composite},
                           {"URL-like, 100 B values", 100, Url},
                           {"8-byte, ascending, 100 B values", 100, BigEndian}};
  for (const KeyKind& kind : kinds) {
    const Forest forest = Plant(kind, megabytes);
    const size_t entries = NodeView(forest.Leaf(0)).count();
    std::printf("%-34s %4zu keys/leaf  cold %6.1f ns  warm %6.1f ns\n", kind.name, entries,
                Nanos(forest, kind, forest.leaf_count), Nanos(forest, kind, 16));
  }
  std::printf("%-34s %6.1f ns\n", "search + insert, warm leaf", InsertNanos());
}

}  // namespace
}  // namespace rowan

int main(int argc, char** argv) {
  rowan::Run(argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 512);
  return 0;
}
