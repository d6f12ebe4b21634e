// SPDX-License-Identifier: GPL-2.0-only
// What a whole test run can be told by environment variables, so that every suite also runs with
// small pages and a small pool: ROWAN_TEST_PAGE_SIZE, ROWAN_TEST_POOL_PAGES, ROWAN_TEST_SEED.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "base/clock.h"

namespace rowan {

[[nodiscard]] inline uint64_t TestSetting(const char* name, uint64_t standard) {
  const char* text = std::getenv(name);
  return text == nullptr || *text == '\0' ? standard : std::strtoull(text, nullptr, 0);
}

[[nodiscard]] inline uint32_t TestPageSizeBytes() {
  return static_cast<uint32_t>(TestSetting("ROWAN_TEST_PAGE_SIZE", 16384));
}

[[nodiscard]] inline uint32_t TestPoolPages() {
  return static_cast<uint32_t>(TestSetting("ROWAN_TEST_POOL_PAGES", 1024));
}

/// The seed of this run: chosen by the clock, printed once, repeatable by ROWAN_TEST_SEED.
[[nodiscard]] inline uint64_t TestSeed() {
  static const uint64_t seed = [] {
    const uint64_t chosen = TestSetting("ROWAN_TEST_SEED", MonotonicNanos());
    std::printf("ROWAN_TEST_SEED=%llu\n", static_cast<unsigned long long>(chosen));
    return chosen;
  }();
  return seed;
}

}  // namespace rowan
