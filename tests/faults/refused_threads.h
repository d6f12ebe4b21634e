// SPDX-License-Identifier: GPL-2.0-only
// RefusedThreads: a system that allows no further thread, while it lives. Stands in front of
// pthread_create for the whole program; without one of these it passes everything on.
// One at a time; the threads that are started may be anybody's.
#pragma once

#include <cstdint>

namespace rowan::faults {

class RefusedThreads {
 public:
  /// The n-th thread from now on is refused, EAGAIN; `lasting`: all from there on.
  explicit RefusedThreads(uint64_t nth, bool lasting = false);
  ~RefusedThreads();
  RefusedThreads(const RefusedThreads&) = delete;
  RefusedThreads& operator=(const RefusedThreads&) = delete;

  /// So far.
  [[nodiscard]] uint64_t refused() const;
};

}  // namespace rowan::faults
