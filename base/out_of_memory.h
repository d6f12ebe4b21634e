// SPDX-License-Identifier: GPL-2.0-only
// Where memory that cannot be had becomes a Status. docs/contracts/faults.md says which functions
// do that and what must not fail half-way. Thread safety: as the work.
#pragma once

#include <new>
#include <utility>

#include "base/status.h"

namespace rowan {

inline constexpr const char* kMemoryRanOut = "memory ran out";

/// The outcome of `work`, a Status or a Result; kOutOfMemory if an allocation failed in it and
/// nobody dealt with that. What the work held is given back by then.
template <typename Work>
auto OrOutOfMemory(Work&& work) -> decltype(work()) {
  try {
    return std::forward<Work>(work)();
  } catch (const std::bad_alloc&) {
    return Status(Code::kOutOfMemory, kMemoryRanOut);
  }
}

}  // namespace rowan
