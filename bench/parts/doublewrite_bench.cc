// SPDX-License-Identifier: GPL-2.0-only
// What protection against torn pages costs: pages per second that one page writer takes from dirty
// to durable, with the doublewrite file on and off, random pages, a few thousand per checkpoint.
// For comparison the bare disk: batches of 128 pages, each followed by a sync, without any pool.
// The bar: on reaches at least 70 % of those synced batches. Off syncs only once per checkpoint and
// shows what the disk's bandwidth allows; on writes every byte twice.
//
// Pages are filled to 69 % with random bytes unless said otherwise: ln 2, where random inserts
// leave the nodes of a B-tree. Full pages have no hole to leave out of the doublewrite file.
//
// CPU time is the program's, user and system, including the threads of io_uring and of the threads
// backend.
//
//   rowan-bench-doublewrite <folder> [rounds] [percent of a page filled] [uring|libaio|threads]
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "bench/parts/bench_instance.h"
#include "io/aligned_buffer.h"
#include "io/write_batch.h"

namespace {

using namespace rowan;

constexpr uint32_t kPoolPages = 20000;
constexpr uint32_t kSpacePages = 19000;
constexpr uint32_t kDirtyPages = 4096;

struct Rates {
  std::vector<double> pages_per_second;
  std::vector<double> micros_per_page;  ///< of processors' time
};

/// Of all threads of this program.
double ProcessorMicros() {
  return 1e6 * static_cast<double>(std::clock()) / static_cast<double>(CLOCKS_PER_SEC);
}

void Measure(BenchInstance* instance, Random* random, Rates* rates) {
  for (uint32_t i = 0; i < kDirtyPages; ++i) {
    instance->Touch(static_cast<uint32_t>(random->Between(1, kSpacePages - 1)), i);
  }
  const auto dirty = static_cast<double>(instance->pool().Statistics().dirty_frames);
  const double processors = ProcessorMicros();
  const uint64_t start = MonotonicNanos();
  Require(instance->pool().FlushAndCheckpoint(), "checkpoint");
  const auto nanos = static_cast<double>(MonotonicNanos() - start);
  rates->pages_per_second.push_back(dirty * 1e9 / nanos);
  rates->micros_per_page.push_back((ProcessorMicros() - processors) / dirty);
}

/// The disk alone: batches of random pages, one sync per batch.
double BarePagesPerSecond(BenchInstance* instance, IoBackend backend, Random* random) {
  constexpr uint32_t kBatch = 128;
  Result<std::unique_ptr<WriteBatch>> writes =
      MakeWriteBatch(PosixFileSystem(), backend, kBatch, nullptr);
  Require(writes.status(), "making a write batch");
  const size_t page_bytes = BenchInstance::kPageBytes;
  AlignedBuffer buffer(kBatch * page_bytes);
  SpaceFiles* files = instance->pool().files();
  // Each page's own bytes are written back, so the instance stays whole.
  const uint64_t batches = kDirtyPages / kBatch;
  uint64_t nanos = 0;
  for (uint64_t batch = 0; batch < batches; ++batch) {
    std::vector<SpaceFiles::Location> locations;
    for (uint32_t i = 0; i < kBatch; ++i) {
      const PageId id =
          BenchInstance::Id(static_cast<uint32_t>(random->Between(1, kSpacePages - 1)));
      Require(files->ReadPage(id, {buffer.data() + i * page_bytes, page_bytes}), "reading");
      Result<SpaceFiles::Location> location = files->Locate(id, SpaceFiles::Use::kWrite);
      Require(location.status(), "locating");
      locations.push_back(std::move(location).value());
    }
    const uint64_t start = MonotonicNanos();
    for (uint32_t i = 0; i < kBatch; ++i) {
      Require(writes.value()->Submit(locations[i].file.get(), locations[i].offset,
                                     {buffer.data() + i * page_bytes, page_bytes}),
              "writing");
    }
    Require(writes.value()->WaitAll(), "writing");
    Require(files->Sync(BenchInstance::kSpace, SyncMethod::kFdatasync), "syncing");
    nanos += MonotonicNanos() - start;
  }
  return static_cast<double>(batches * kBatch) * 1e9 / static_cast<double>(nanos);
}

void PrintRounds(const char* name, const std::vector<double>& rates) {
  std::printf("%s:", name);
  for (const double rate : rates) std::printf(" %.0f", rate);
  std::printf("\n");
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

IoBackend BackendNamed(const std::string& name) {
  for (const IoBackend backend : {IoBackend::kUring, IoBackend::kLibaio, IoBackend::kThreads}) {
    if (name == IoBackendName(backend)) return backend;
  }
  return IoBackend::kAuto;
}

void Print(const char* name, const Rates& rates) {
  PrintRounds(name, rates.pages_per_second);
  std::printf("%s: median %.0f pages/s, %.1f us of processors a page\n", name,
              Median(rates.pages_per_second), Median(rates.micros_per_page));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s <folder> [rounds] [percent filled] [backend]\n", argv[0]);
    return 2;
  }
  const int rounds = argc > 2 ? std::max(1, std::atoi(argv[2])) : 7;
  const int filled = argc > 3 ? std::clamp(std::atoi(argv[3]), 0, 100) : 69;
  const IoBackend backend = BackendNamed(argc > 4 ? argv[4] : "auto");
  BenchInstance instance(argv[1], kPoolPages, kSpacePages,
                         {.fill_percent = static_cast<uint32_t>(filled), .io_backend = backend});
  Random random(1);
  Rates on;
  Rates off;
  std::vector<double> bare;
  // In turns, so that a disk that changes its pace does so for both.
  for (int round = 0; round < rounds; ++round) {
    Require(instance.pool().SetDoublewriteMode(DoublewriteMode::kOn), "doublewrite on");
    Measure(&instance, &random, &on);
    Require(instance.pool().SetDoublewriteMode(DoublewriteMode::kOff), "doublewrite off");
    Measure(&instance, &random, &off);
    bare.push_back(BarePagesPerSecond(&instance, backend, &random));
  }
  Print("on", on);
  Print("off", off);
  PrintRounds("bare", bare);
  std::printf("pages/s, median of %d rounds: on %.0f, off %.0f, bare synced batches %.0f\n", rounds,
              Median(on.pages_per_second), Median(off.pages_per_second), Median(bare));
  std::printf("on/bare %.2f, on/off %.2f\n", Median(on.pages_per_second) / Median(bare),
              Median(on.pages_per_second) / Median(off.pages_per_second));
  return 0;
}
