// SPDX-License-Identifier: GPL-2.0-only
// FaultTally: how often each kind of call was made of a FaultFileSystem and how often a fault met
// it, and the same for what can go wrong in its queues of asynchronous requests, over all file
// systems of a test program and of the processes it forks, and of all programs that name the same
// file in ROWAN_TEST_FAULT_TALLY. A series of random programs that injects
// faults asks it afterwards whether every kind really happened.
// Thread safety: all members from any thread and any forked process.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rowan {

enum class FileCall : uint32_t {
  kOpen,
  kRead,
  kWrite,
  kSync,
  kTruncate,
  kAllocate,
  kRename,
  kRemove,
  kSyncDirectory,
  kPunch,
  kLink,
  kCount
};

/// What a path names; kFolder for calls on the folder itself.
enum class FileClass : uint32_t {
  kRedo,
  kSpace,
  kDoublewrite,
  kPageLsns,
  kControl,
  kSort,
  kFolder,
  kOther,
  kCount
};

/// What a queue of asynchronous requests may do to its user.
enum class QueueFault : uint32_t {
  kPartialSubmit,      ///< takes a part of what was prepared, also half of a linked pair
  kSubmitInterrupted,  ///< -EINTR, as the next four
  kSubmitAgain,
  kSubmitNoMemory,
  kSubmitBusy,
  kSubmitRefused,    ///< -EPERM, for good
  kWaitInterrupted,  ///< -EINTR
  kOutOfOrder,       ///< a later request is done before an earlier one
  kAnswerShuffled,   ///< a later answer arrives before an earlier one
  kShortTransfer,
  kAnswerInterrupted,  ///< nothing was done: -EINTR, -EAGAIN, -ENOMEM
  kAnswerAgain,
  kAnswerNoMemory,
  kAnswerFailed,   ///< -EIO
  kLinkCut,        ///< the request behind a short or failed one is cancelled
  kSyncCancelled,  ///< though the write before it was done
  kCount
};
[[nodiscard]] const char* QueueFaultName(QueueFault fault);

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
/// A chance for a fault of a queue, taken or not.
void CountQueueFault(QueueFault fault, bool fired);
[[nodiscard]] FaultCounts CountsOf(QueueFault fault);
/// A line for each kind of call that was made.
[[nodiscard]] std::string DescribeFaultTally();

}  // namespace rowan
