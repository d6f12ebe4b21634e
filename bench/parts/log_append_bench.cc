// SPDX-License-Identifier: GPL-2.0-only
// What appending to the log's ring costs, by number of threads: groups per second of all threads,
// processor time per group, and how long the slowest append took. Every 64th group is a page image
// of 16 KiB, as in a bulk load. Another thread empties the ring without any disk.
//
//   rowan-bench-log_append [threads ...]
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "wal/log_buffer.h"

namespace {

using namespace rowan;

constexpr uint64_t kRingBytes = uint64_t{16} << 20;
constexpr uint64_t kRunNanos = uint64_t{1} * 1000 * 1000 * 1000;
constexpr size_t kSmallBytes = 250;
constexpr size_t kImageBytes = 16384;
constexpr uint32_t kImageEvery = 64;

uint64_t ThreadNanos() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

struct alignas(64) Figures {
  uint64_t groups = 0;
  uint64_t cpu_nanos = 0;
  uint64_t longest_nanos = 0;
};

struct Run {
  LogBuffer buffer{kRingBytes, Lsn(4096), 1};
  std::atomic<Lsn> durable{Lsn(4096)};
  std::atomic<bool> stop{false};

  Figures Append() {
    Figures figures;
    GroupBuilder group;
    const uint64_t cpu_begin = ThreadNanos();
    while (!stop.load(std::memory_order_relaxed)) {
      const size_t bytes = figures.groups % kImageEvery == 0 ? kImageBytes : kSmallBytes;
      group.Clear();
      std::memset(group.Add(RecordType::kPageBytes, {SpaceId(16), PageNumber(7)}, bytes), 7, bytes);
      group.Finish();
      const uint64_t begin = MonotonicNanos();
      while (buffer.TryAppend(&group, durable) == kNoLsn && !stop) std::this_thread::yield();
      figures.longest_nanos = std::max(figures.longest_nanos, MonotonicNanos() - begin);
      ++figures.groups;
    }
    figures.cpu_nanos = ThreadNanos() - cpu_begin;
    return figures;
  }
  void Drain() {
    while (!stop) {
      durable.store(buffer.AwaitContent(), std::memory_order_release);
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    durable.store(Lsn(uint64_t{1} << 60));
  }
};

void Measure(uint32_t thread_count) {
  Run run;
  std::vector<Figures> all(thread_count);
  std::vector<std::thread> threads;
  for (Figures& figures : all) threads.emplace_back([&] { figures = run.Append(); });
  std::thread drain([&] { run.Drain(); });
  std::this_thread::sleep_for(std::chrono::nanoseconds(kRunNanos));
  run.stop = true;
  for (std::thread& thread : threads) thread.join();
  drain.join();
  Figures sum;
  for (const Figures& figures : all) {
    sum.groups += figures.groups;
    sum.cpu_nanos += figures.cpu_nanos;
    sum.longest_nanos = std::max(sum.longest_nanos, figures.longest_nanos);
  }
  const double seconds = static_cast<double>(kRunNanos) / 1e9;
  std::printf("%7u  %12.0f  %12.0f  %14.1f\n", thread_count,
              static_cast<double>(sum.groups) / seconds,
              static_cast<double>(sum.cpu_nanos) / static_cast<double>(sum.groups),
              static_cast<double>(sum.longest_nanos) / 1000);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<uint32_t> counts;
  for (int i = 1; i < argc; ++i) counts.push_back(static_cast<uint32_t>(std::atoi(argv[i])));
  if (counts.empty()) counts = {1, 2, 4, 8, 16, 64};
  std::printf("threads  groups/second  CPU ns/group  longest us\n");
  for (const uint32_t count : counts) Measure(std::max(1u, count));
  return 0;
}
