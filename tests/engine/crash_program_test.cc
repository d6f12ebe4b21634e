// SPDX-License-Identifier: GPL-2.0-only
// Crash programs with the system's own threads; crash_seeds.h tells which seeds. The same programs
// with threads that take turns: tests/simulation/crash_simulation_test.cc.
#include <gtest/gtest.h>

#include <cstdio>

#include "tests/engine/crash_program.h"
#include "tests/engine/crash_seeds.h"
#include "tests/support/log_capture.h"

namespace rowan {
namespace {

void RunPrograms(uint64_t count, const CrashProgramSettings& settings) {
  ForEachCrashSeed(count, [&settings](uint64_t seed) {
    LogCapture log;
    SCOPED_TRACE(CrashReplayCommand(seed, "rowan_engine_test --gtest_filter='CrashProgramTest.*'"));
    CrashProgram(seed, settings).Run();
    if (::testing::Test::HasFailure()) std::printf("%s", log.Text().c_str());
  });
}

TEST(CrashProgramTest, WhatWasAcknowledgedIsThereAfterAnyCrash) { RunPrograms(CrashSeeds(), {}); }

/// Each is verified, restored with what it is incremental to, and compared with what was committed
/// up to its end.
TEST(CrashProgramTest, BackupsAreWhatTheInstanceWasAtTheirEnd) {
  const uint64_t wanted =
      TestSetting("ROWAN_TEST_BACKUPS", TestSetting("ROWAN_TEST_LONG", 0) != 0 ? 500 : 25);
  CrashProgramSettings settings;
  settings.backups = 4;
  settings.rounds = 3;
  uint64_t checked = 0;
  for (uint64_t seed = TestSeed(); checked < wanted && !::testing::Test::HasFailure(); ++seed) {
    LogCapture log;
    SCOPED_TRACE(CrashReplayCommand(seed, "rowan_engine_test --gtest_filter='*BackupsAre*'"));
    CrashProgram program(seed, settings);
    program.Run();
    checked += program.copies_checked();
    if (::testing::Test::HasFailure()) std::printf("%s", log.Text().c_str());
  }
  std::printf("%llu backups verified, restored and compared\n",
              static_cast<unsigned long long>(checked));
}

TEST(CrashProgramTest, LongRowsManyThreadsFewTransactions) {
  CrashProgramSettings settings;
  settings.worker.workers = kCrashWorkersMax;
  settings.worker.text_bytes_max = TestPageSizeBytes() / 8;
  settings.transactions = 10;
  settings.rounds = 3;
  settings.ddl = false;
  RunPrograms(CrashSeeds() / 10 + 1, settings);
}

TEST(CrashProgramTest, RowsUpToTheLargestSize) {
  CrashProgramSettings settings;
  settings.worker.workers = 2;
  constexpr size_t kKeyAndNumbersBytes = 16 + 2;  // and the length of the reference
  const size_t beside = kKeyAndNumbersBytes + kClusteredHeaderBytes + kBlobRefBytes;
  const size_t most = Tree::MaxEntryBytes(TestPageSizeBytes()) - beside;
  settings.worker.text_bytes_max = static_cast<uint32_t>(most + 1);
  settings.transactions = 12;
  settings.ddl = false;
  RunPrograms(CrashSeeds() / 10 + 1, settings);
}

}  // namespace
}  // namespace rowan
