// SPDX-License-Identifier: GPL-2.0-only
// Where a failed allocation becomes a Status. docs/contracts/faults.md says which functions do that
// and what must not fail half-way. Thread safety: that of the work.
#pragma once

#include <new>
#include <utility>

#include "base/status.h"

namespace rowan {

inline constexpr const char* kMemoryRanOut = "memory ran out";

/// The outcome of `work`, a Status or a Result; kOutOfMemory if an allocation in it failed and was
/// not handled there. By then the work has released what it held.
template <typename Work>
auto OrOutOfMemory(Work&& work) -> decltype(work()) {
  try {
    return std::forward<Work>(work)();
  } catch (const std::bad_alloc&) {
    return Status(Code::kOutOfMemory, kMemoryRanOut);
  }
}

}  // namespace rowan
