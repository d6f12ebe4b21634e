// SPDX-License-Identifier: GPL-2.0-only
// Transient failures: the process or the system is short of descriptors or memory. Nothing was done
// and nothing was lost, so unlike a failed write or sync such a call may be retried. A failed sync
// never counts as one: its effect is unknown.
#pragma once

#include <chrono>
#include <string_view>

#include "base/status.h"

namespace rowan {

/// EMFILE, ENFILE, ENOMEM, EAGAIN.
bool IsResourceShortage(int error);
bool IsResourceShortage(const Status& status);

/// Logs that `what` waits or will be retried; once a minute for the whole process.
void LogShortage(std::string_view what, int error);

/// The pauses between the retries of one call. Thread safety: one thread.
class ShortageWait {
 public:
  /// `what` is being tried, for the log; it outlives the object.
  explicit ShortageWait(std::string_view what) : what_(what) {}

  /// After a shortage: sleeps, longer each time. False when the time limit is reached. errno is
  /// left unchanged.
  bool Again(int error);
  /// A try succeeded: the next shortage starts with the full time limit.
  void Reset() { pause_ = slept_ = std::chrono::milliseconds(0); }

 private:
  const std::string_view what_;
  std::chrono::milliseconds pause_{0};
  std::chrono::milliseconds slept_{0};
};

}  // namespace rowan
