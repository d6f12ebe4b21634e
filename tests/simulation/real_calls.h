// SPDX-License-Identifier: GPL-2.0-only
// The system's own versions of the functions that intercept.cc stands in front of. Thread-safe.
#pragma once

#include <dlfcn.h>

#include <atomic>

/// The system's `function`, looked up once.
#define ROWAN_REAL(function)                               \
  ([] {                                                    \
    static constinit std::atomic<void*> found{nullptr};    \
    void* address = found.load(std::memory_order_relaxed); \
    if (address == nullptr) {                              \
      address = dlsym(RTLD_NEXT, #function);               \
      found.store(address, std::memory_order_relaxed);     \
    }                                                      \
    return reinterpret_cast<decltype(&function)>(address); \
  }())
