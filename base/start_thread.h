// SPDX-License-Identifier: GPL-2.0-only
// The only place that starts threads, because the system may refuse one.
#pragma once

#include <functional>
#include <thread>

#include "base/status.h"

namespace rowan {

/// A thread that runs `work`; the caller joins it. kBusy, detail = errno: the system allows no more
/// (a process limit, or no memory for a stack). Thread-safe.
Result<std::thread> StartThread(std::function<void()> work);

}  // namespace rowan
