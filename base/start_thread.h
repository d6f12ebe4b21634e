// SPDX-License-Identifier: GPL-2.0-only
// Starting a thread: the only place that makes one, because the system may refuse it.
#pragma once

#include <functional>
#include <thread>

#include "base/status.h"

namespace rowan {

/// A thread that runs `work`, to be joined. kBusy, detail = errno: the system allows no further one
/// (a limit of processes, or no memory for a stack). Thread-safe.
Result<std::thread> StartThread(std::function<void()> work);

}  // namespace rowan
