// SPDX-License-Identifier: GPL-2.0-only
// Which seeds a test of crash programs runs: ROWAN_TEST_CRASH_SEEDS says how many (default 25; the
// test driver runs 2000, and with --long as many as its time allows), ROWAN_TEST_SEED which is
// first, ROWAN_TEST_CRASH_SECONDS when to end early. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace rowan {

/// How many seeds are asked for.
uint64_t CrashSeeds();
/// Calls `run` with `count` seeds, until a test has failed or the time is over, but at least once.
/// Prints how far it is.
void ForEachCrashSeed(uint64_t count, const std::function<void(uint64_t seed)>& run);
/// The command that runs one seed again; `test` names the program and its filter.
std::string CrashReplayCommand(uint64_t seed, const std::string& test);

}  // namespace rowan
