// SPDX-License-Identifier: GPL-2.0-only
#include "tests/faults/refused_memory.h"

#include <cstdio>
#include <cstdlib>
#include <new>

#include <execinfo.h>

#include "tests/support/quiet_memory.h"

namespace rowan::faults {
namespace {

struct MemoryPlan {
  bool armed = false;
  uint64_t asked = 0;
  uint64_t refuse_at = 0;
};
thread_local MemoryPlan t_plan;

/// ROWAN_TEST_REFUSED_STACK shows where the allocation that is refused was asked for.
void ShowStack() {
  static const bool wanted = std::getenv("ROWAN_TEST_REFUSED_STACK") != nullptr;
  if (!wanted) return;
  void* frames[40];
  const int count = backtrace(frames, 40);
  backtrace_symbols_fd(frames, count, 2);
}

bool RefusesAllocation() {
  if (!t_plan.armed || QuietMemory::Depth() != 0) return false;
  if (++t_plan.asked != t_plan.refuse_at) return false;
  const QuietMemory quiet;
  ShowStack();
  return true;
}

void* Allocate(size_t bytes, size_t alignment) {
  if (RefusesAllocation()) throw std::bad_alloc();
  if (bytes == 0) bytes = 1;
  void* const memory =
      alignment == 0
          ? std::malloc(bytes)
          : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

RefusedMemory::RefusedMemory(uint64_t nth) {
  t_plan = {.armed = true, .asked = 0, .refuse_at = nth};
}

RefusedMemory::~RefusedMemory() { t_plan.armed = false; }

uint64_t RefusedMemory::allocations() { return t_plan.asked; }
bool RefusedMemory::refused() { return t_plan.refuse_at != 0 && t_plan.asked >= t_plan.refuse_at; }

}  // namespace rowan::faults

void* operator new(size_t bytes) { return rowan::faults::Allocate(bytes, 0); }
void* operator new(size_t bytes, std::align_val_t alignment) {
  return rowan::faults::Allocate(bytes, static_cast<size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }
