// SPDX-License-Identifier: GPL-2.0-only
// Workers: one piece of work that several threads, including the caller, do together until all have
// finished. They take parts of it from shared state, so any number of them gets it done. Background
// work uses a ThreadLoop instead.
// Thread safety: Run by one thread; failed() by any.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "base/function_ref.h"
#include "base/status.h"

namespace rowan {

class Workers {
 public:
  /// `count`: including the caller, at least 1. Threads appear as "rowan-<name><number>", see
  /// ThreadLoop.
  Workers(std::string name, uint32_t count);

  /// Each thread calls `work` with its number; the caller's is 0. Returns when all have ended, with
  /// the first failure. If the system refuses a thread, the others do its share.
  Status Run(FunctionRef<Status(uint32_t worker)> work);
  /// A thread has failed: the others should stop.
  [[nodiscard]] bool failed() const { return failed_.load(std::memory_order_acquire); }

 private:
  void RunThread(uint32_t worker, FunctionRef<Status(uint32_t worker)> work);
  void RunOne(uint32_t worker, FunctionRef<Status(uint32_t worker)> work);

  const std::string name_;
  const uint32_t count_;
  std::atomic<bool> failed_{false};  ///< set by the first thread that fails, read by all
  Status failure_;                   ///< written by its setter, read when all have ended
};

}  // namespace rowan
