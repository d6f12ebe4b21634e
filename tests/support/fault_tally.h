// SPDX-License-Identifier: GPL-2.0-only
// FaultTally: how often each kind of call was made of a FaultFileSystem and how often a fault met
// it, over all file systems of a test program and of the processes it forks, and of all programs
// that name the same file in ROWAN_TEST_FAULT_TALLY. A series of random programs that injects
// faults asks it afterwards whether every kind really happened.
// Thread safety: all members from any thread and any forked process.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rowan {

enum class FileCall : uint32_t {
  kOpen, kRead, kWrite, kSync, kTruncate, kAllocate, kRename, kRemove, kSyncDirectory, kPunch,
  kCount
};

/// What a path names; kFolder for calls on the folder itself.
enum class FileClass : uint32_t {
  kRedo, kSpace, kDoublewrite, kVersions, kControl, kSort, kFolder, kOther, kCount
};

[[nodiscard]] FileClass FileClassOf(std::string_view path);
[[nodiscard]] const char* FileCallName(FileCall call);
[[nodiscard]] const char* FileClassName(FileClass file_class);

struct FaultCounts {
  uint64_t calls = 0;
  uint64_t fired = 0;
};

/// From the first use on; a program that forks calls this before it does.
void StartFaultTally();
/// Adds random programs that were run; returns how many there were in all.
uint64_t CountSeeds(uint64_t seeds);
void CountCall(FileCall call, std::string_view path);
void CountFault(FileCall call, std::string_view path);
[[nodiscard]] FaultCounts CountsOf(FileCall call, FileClass file_class);
/// A line for each kind of call that was made.
[[nodiscard]] std::string DescribeFaultTally();

}  // namespace rowan
