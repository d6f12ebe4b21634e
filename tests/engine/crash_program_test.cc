// SPDX-License-Identifier: GPL-2.0-only
// Crash simulation. ROWAN_TEST_CRASH_SEEDS sets how many programs run (default 60 here; the test
// driver asks for 2000 and, with --long, for as many as fit); ROWAN_TEST_SEED replays from a given
// first seed.
#include <gtest/gtest.h>

#include "tests/engine/crash_program.h"

namespace rowan {
namespace {

TEST(CrashProgramTest, WhatWasAcknowledgedIsThereAfterAnyCrash) {
  const uint64_t first = TestSeed();
  const uint64_t count = TestSetting("ROWAN_TEST_CRASH_SEEDS", 60);
  for (uint64_t i = 0; i < count && !HasFailure(); ++i) {
    CrashProgram(first + i, CrashProgramSettings{}).Run();
  }
}

TEST(CrashProgramTest, LongRowsManyThreadsFewTransactions) {
  const uint64_t count = TestSetting("ROWAN_TEST_CRASH_SEEDS", 60) / 10 + 1;
  CrashProgramSettings settings;
  settings.threads = 8;
  settings.transactions = 15;
  settings.rounds = 3;
  settings.text_bytes_max = TestPageSizeBytes() / 8;
  for (uint64_t i = 0; i < count && !HasFailure(); ++i) {
    CrashProgram(TestSeed() + 1000000 + i, settings).Run();
  }
}

}  // namespace
}  // namespace rowan
