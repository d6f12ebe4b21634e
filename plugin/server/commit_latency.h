// SPDX-License-Identifier: GPL-2.0-only
// Status variables of a histogram: how many commits took at most so long, whatever the log's sync
// method. Monitors that know nothing of INFORMATION_SCHEMA read them. Thread safety: Read() by one
// thread at a time, as the server asks for status variables.
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "mysql/status_var.h"

namespace rowan {

class CommitLatencyStatus {
 public:
  /// Bounds are powers of two of microseconds, less one: 127 us to 8.4 s; then all, and the sum.
  static constexpr size_t kBounds = 17;
  static constexpr size_t kVariables = kBounds + 2;

  CommitLatencyStatus();

  /// Reads the engine, which is open, into the variables from `variable` on.
  void Read(SHOW_VAR* variable);

 private:
  std::array<std::string, kVariables> names_;
  std::array<long long, kVariables> values_{};
};

}  // namespace rowan
