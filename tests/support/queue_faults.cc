// SPDX-License-Identifier: GPL-2.0-only
#include "tests/support/queue_faults.h"

namespace rowan {

void QueueFaults::SetOneIn(uint32_t chances) {
  std::lock_guard lock(mutex_);
  one_in_ = chances;
}

void QueueFaults::Inject(QueueFault fault, uint32_t times) {
  std::lock_guard lock(mutex_);
  injected_[static_cast<size_t>(fault)] = times;
}

void QueueFaults::Clear() {
  std::lock_guard lock(mutex_);
  injected_.fill(0);
}

bool QueueFaults::Happens(QueueFault fault) {
  std::lock_guard lock(mutex_);
  uint32_t& injected = injected_[static_cast<size_t>(fault)];
  const bool lasting = fault == QueueFault::kSubmitRefused || fault == QueueFault::kAnswerFailed;
  bool happens = !lasting && one_in_ != 0 && random_.OneIn(one_in_);
  if (injected > 0) {
    --injected;
    happens = true;
  }
  CountQueueFault(fault, happens);
  return happens;
}

}  // namespace rowan
