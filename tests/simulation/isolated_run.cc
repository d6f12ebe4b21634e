// SPDX-License-Identifier: GPL-2.0-only
#include "tests/simulation/isolated_run.h"

#include <gtest/gtest.h>
#include <malloc.h>
#include <sched.h>
#include <sys/personality.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

namespace rowan::simulation {
namespace {

constexpr int kHeaps = 64;  ///< the standard depends on the number of processors

/// Turns pass between threads of one processor at a third of the cost.
void StayOnOneProcessor(uint64_t seed) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return;
  auto skipped = seed % static_cast<uint64_t>(CPU_COUNT(&allowed));
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed) || skipped-- != 0) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof(one), &one);
    return;
  }
}

/// A run that spins for ever ends as "Alarm clock".
constexpr unsigned kSecondsMax = 300;

[[noreturn]] void RunChild(int output, const std::function<uint64_t()>& program) {
  alarm(kSecondsMax);
  const uint64_t digest = program();
  const bool told = write(output, &digest, sizeof(digest)) == sizeof(digest);
  std::fflush(stdout);
  _exit(told && !::testing::Test::HasFailure() ? 0 : 1);
}

}  // namespace

void FixAddresses(char** arguments) {
  mallopt(M_ARENA_MAX, kHeaps);
  const int now = personality(0xffffffff);
  if (now == -1 || (now & ADDR_NO_RANDOMIZE) != 0) return;
  if (personality(static_cast<unsigned long>(now) | ADDR_NO_RANDOMIZE) != -1) {
    execv("/proc/self/exe", arguments);
  }
  std::printf("addresses are randomised here: runs may differ between processes\n");
}

IsolatedRun RunIsolated(uint64_t seed, const std::function<uint64_t()>& program) {
  IsolatedRun run;
  int ends[2];
  std::fflush(stdout);
  if (pipe(ends) != 0) return run;
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    StayOnOneProcessor(seed);
    RunChild(ends[1], program);
  }
  close(ends[1]);
  const bool told = read(ends[0], &run.digest, sizeof(run.digest)) == sizeof(run.digest);
  close(ends[0]);
  int status = 0;
  const bool ended = child > 0 && waitpid(child, &status, 0) == child;
  run.passed = ended && told && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  if (!run.passed) run.ending = WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "failed";
  return run;
}

}  // namespace rowan::simulation
