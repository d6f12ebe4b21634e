// SPDX-License-Identifier: GPL-2.0-only
#include "tests/engine/crash_seeds.h"

#include <gtest/gtest.h>

#include <cstdio>

#include "base/clock.h"
#include "tests/engine/crash_faults.h"
#include "tests/support/test_settings.h"

namespace rowan {
namespace {

constexpr uint64_t kSeeds = 25;
/// One line of progress for so many seeds.
constexpr uint64_t kSeedsPerLine = 50;
constexpr uint64_t kNanosPerSecond = 1000000000;
/// A series this long meets every kind of fault, the rarest some ten times.
constexpr uint64_t kSeedsForEveryFault = 1500;

}  // namespace

uint64_t CrashSeeds() { return TestSetting("ROWAN_TEST_CRASH_SEEDS", kSeeds); }

void ForEachCrashSeed(uint64_t count, const std::function<void(uint64_t seed)>& run) {
  const uint64_t first = TestSeed();
  const uint64_t seconds = TestSetting("ROWAN_TEST_CRASH_SECONDS", UINT64_MAX / kNanosPerSecond);
  const uint64_t start = MonotonicNanos();
  StartFaultTally();  // before any process is forked
  uint64_t done = 0;
  while (done < count && !::testing::Test::HasFailure() &&
         (done == 0 || MonotonicNanos() - start < seconds * kNanosPerSecond)) {
    run(first + done);
    ++done;
    if (done % kSeedsPerLine == 0 || done == count) {
      std::printf("crash programs: %llu of %llu\n", static_cast<unsigned long long>(done),
                  static_cast<unsigned long long>(count));
      std::fflush(stdout);
    }
  }
  if (CountSeeds(done) < kSeedsForEveryFault) return;
  if (!::testing::Test::HasFailure()) {
    std::printf("calls and injected faults:\n%s", DescribeFaultTally().c_str());
    EXPECT_EQ(FaultsThatNeverFired(), "");
  }
}

std::string CrashReplayCommand(uint64_t seed, const std::string& test) {
  return "to replay: ROWAN_TEST_PAGE_SIZE=" + std::to_string(TestPageSizeBytes()) +
         " ROWAN_TEST_POOL_PAGES=" + std::to_string(TestPoolPages()) +
         " ROWAN_TEST_SEED=" + std::to_string(seed) + " ROWAN_TEST_CRASH_SEEDS=1 build/tests/" +
         test;
}

}  // namespace rowan
