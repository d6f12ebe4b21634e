// SPDX-License-Identifier: GPL-2.0-only
#include "tests/faults/refused_threads.h"

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>

namespace rowan::faults {
namespace {

std::atomic<int64_t> g_threads_until_refusal{0};  ///< none is refused unless it is above 0
std::atomic<bool> g_refuses_all_further{false};
std::atomic<uint64_t> g_threads_refused{0};

/// Counts a thread that is to be started. True: it is refused.
bool RefusesThread() {
  if (g_threads_until_refusal.load() <= 0) return false;
  int64_t left = g_threads_until_refusal.fetch_sub(1);
  if (left > 1) return false;
  if (g_refuses_all_further.load()) g_threads_until_refusal.store(1);
  g_threads_refused.fetch_add(1);
  return true;
}

}  // namespace

RefusedThreads::RefusedThreads(uint64_t nth, bool lasting) {
  g_threads_refused.store(0);
  g_refuses_all_further.store(lasting);
  g_threads_until_refusal.store(static_cast<int64_t>(nth));
}

RefusedThreads::~RefusedThreads() { g_threads_until_refusal.store(0); }

uint64_t RefusedThreads::refused() const { return g_threads_refused.load(); }

}  // namespace rowan::faults

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*body)(void*), void* argument) {
  static const auto real =
      reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
  if (rowan::faults::RefusesThread()) return EAGAIN;
  return real(thread, attributes, body, argument);
}
