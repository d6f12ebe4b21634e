// SPDX-License-Identifier: GPL-2.0-only
// One simulated program in a process of its own, forked from a process that does nothing else:
// every run finds the same memory, whichever runs came before. For single-threaded callers.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace rowan::simulation {

/// Starts the calling program again without address randomisation, once, so that addresses repeat
/// between processes. Where that is refused it says so and returns: runs then repeat only nearly.
void FixAddresses(char** arguments);

struct IsolatedRun {
  bool passed = false;
  uint64_t digest = 0;
  std::string ending;  ///< of a run that did not pass: "failed", or the signal that ended it
};

/// Runs `program` in a child process, which passes if no GoogleTest expectation failed. What it
/// prints goes where this process prints.
IsolatedRun RunIsolated(uint64_t seed, const std::function<uint64_t()>& program);

}  // namespace rowan::simulation
