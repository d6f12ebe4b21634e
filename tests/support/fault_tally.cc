// SPDX-License-Identifier: GPL-2.0-only
#include "tests/support/fault_tally.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>

#include "base/format.h"

namespace rowan {
namespace {

constexpr size_t kCalls = static_cast<size_t>(FileCall::kCount);
constexpr size_t kClasses = static_cast<size_t>(FileClass::kCount);
constexpr size_t kQueueFaults = static_cast<size_t>(QueueFault::kCount);

struct Cell {
  std::atomic<uint64_t> calls;
  std::atomic<uint64_t> fired;
};
/// In memory that processes share; zeros are a fresh tally.
struct Tally {
  Cell cells[kCalls][kClasses];
  Cell queue_faults[kQueueFaults];
  std::atomic<uint64_t> seeds;
};

Tally* MapTally() {
  const char* path = std::getenv("ROWAN_TEST_FAULT_TALLY");
  int descriptor = -1;
  if (path != nullptr) {
    descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (descriptor < 0 || ftruncate(descriptor, sizeof(Tally)) != 0) std::abort();
  }
  void* memory = mmap(nullptr, sizeof(Tally), PROT_READ | PROT_WRITE,
                      MAP_SHARED | (path == nullptr ? MAP_ANONYMOUS : 0), descriptor, 0);
  if (memory == MAP_FAILED) std::abort();
  if (descriptor >= 0) close(descriptor);
  return static_cast<Tally*>(memory);
}

Tally* Shared() {
  static Tally* const tally = MapTally();
  return tally;
}

Cell& CellOf(FileCall call, FileClass file_class) {
  return Shared()->cells[static_cast<size_t>(call)][static_cast<size_t>(file_class)];
}

}  // namespace

FileClass FileClassOf(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  if (name.find("redo") != std::string_view::npos) return FileClass::kRedo;
  if (name.find("space_") != std::string_view::npos) return FileClass::kSpace;
  if (name.find("doublewrite") != std::string_view::npos) return FileClass::kDoublewrite;
  if (name.find("page_lsns") != std::string_view::npos) return FileClass::kPageLsns;
  if (name.find("control") != std::string_view::npos) return FileClass::kControl;
  if (name.find("sort") != std::string_view::npos) return FileClass::kSort;
  return name.find('.') == std::string_view::npos ? FileClass::kFolder : FileClass::kOther;
}

const char* FileCallName(FileCall call) {
  constexpr const char* kNames[kCalls] = {"open",           "read",     "write",  "sync",
                                          "truncate",       "allocate", "rename", "remove",
                                          "sync directory", "punch",    "link"};
  return kNames[static_cast<size_t>(call)];
}

const char* FileClassName(FileClass file_class) {
  constexpr const char* kNames[kClasses] = {"redo log", "space", "doublewrite", "page LSNs",
                                            "control",  "sort",  "folder",      "other"};
  return kNames[static_cast<size_t>(file_class)];
}

const char* QueueFaultName(QueueFault fault) {
  constexpr const char* kNames[kQueueFaults] = {
      "partial submit",        "submit interrupted", "submit again",       "submit without memory",
      "submit busy",           "submit refused",     "wait interrupted",   "out of order",
      "answers shuffled",      "short transfer",     "answer interrupted", "answer again",
      "answer without memory", "answer failed",      "link cut",           "sync cancelled"};
  return kNames[static_cast<size_t>(fault)];
}

void StartFaultTally() { (void)Shared(); }

uint64_t CountSeeds(uint64_t seeds) {
  return Shared()->seeds.fetch_add(seeds, std::memory_order_relaxed) + seeds;
}

void CountCall(FileCall call, std::string_view path) {
  CellOf(call, FileClassOf(path)).calls.fetch_add(1, std::memory_order_relaxed);
}

void CountFault(FileCall call, std::string_view path) {
  CellOf(call, FileClassOf(path)).fired.fetch_add(1, std::memory_order_relaxed);
}

FaultCounts CountsOf(FileCall call, FileClass file_class) {
  const Cell& cell = CellOf(call, file_class);
  return {cell.calls.load(std::memory_order_relaxed), cell.fired.load(std::memory_order_relaxed)};
}

void CountQueueFault(QueueFault fault, bool fired) {
  Cell& cell = Shared()->queue_faults[static_cast<size_t>(fault)];
  cell.calls.fetch_add(1, std::memory_order_relaxed);
  if (fired) cell.fired.fetch_add(1, std::memory_order_relaxed);
}

FaultCounts CountsOf(QueueFault fault) {
  const Cell& cell = Shared()->queue_faults[static_cast<size_t>(fault)];
  return {cell.calls.load(std::memory_order_relaxed), cell.fired.load(std::memory_order_relaxed)};
}

std::string DescribeFaultTally() {
  std::string text;
  for (size_t call = 0; call < kCalls; ++call) {
    for (size_t file_class = 0; file_class < kClasses; ++file_class) {
      const auto kind = static_cast<FileCall>(call);
      const auto file = static_cast<FileClass>(file_class);
      const FaultCounts counts = CountsOf(kind, file);
      if (counts.calls == 0) continue;
      text += Format("{} {}: {} calls, {} faults\n", FileCallName(kind), FileClassName(file),
                     counts.calls, counts.fired);
    }
  }
  for (size_t number = 0; number < kQueueFaults; ++number) {
    const auto fault = static_cast<QueueFault>(number);
    const FaultCounts counts = CountsOf(fault);
    if (counts.calls == 0) continue;
    text += Format("queue, {}: {} chances, {} faults\n", QueueFaultName(fault), counts.calls,
                   counts.fired);
  }
  return text;
}

}  // namespace rowan
