// SPDX-License-Identifier: GPL-2.0-only
// Failures that pass: the process or the system is short of descriptors or memory. Nothing was
// done and nothing was lost, so unlike a failed write or sync such a call may be tried again. A
// failed sync never counts as one: what it leaves behind is not known.
#pragma once

#include <chrono>
#include <string_view>

#include "base/status.h"

namespace rowan {

/// EMFILE, ENFILE, ENOMEM, EAGAIN.
bool IsResourceShortage(int error);
bool IsResourceShortage(const Status& status);

/// Says that `what` waits or will be tried again; once a minute for the whole process.
void LogShortage(std::string_view what, int error);

/// The pauses between the tries of one call. Thread safety: one thread.
class ShortageWait {
 public:
  /// `what` is tried, named in the log; it outlives the object.
  explicit ShortageWait(std::string_view what) : what_(what) {}

  /// After a shortage: sleeps, longer each time. False when the patience is at its end. errno is
  /// left as it was.
  bool Again(int error);
  /// A try succeeded: the next shortage has the whole patience.
  void Reset() { pause_ = slept_ = std::chrono::milliseconds(0); }

 private:
  const std::string_view what_;
  std::chrono::milliseconds pause_{0};
  std::chrono::milliseconds slept_{0};
};

}  // namespace rowan
