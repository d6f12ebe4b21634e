// SPDX-License-Identifier: GPL-2.0-only
// The kernel's queues. The only place that uses liburing and libaio.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"
#include "io/async_queue.h"

namespace rowan {

/// `entries` = most requests prepared or unanswered. kUnsupported when the kernel does not permit
/// it; `*refusal` then says why, without a full stop.
Result<std::unique_ptr<AsyncQueue>> MakeUringQueue(uint32_t entries, std::string* refusal);
Result<std::unique_ptr<AsyncQueue>> MakeAioQueue(uint32_t entries, std::string* refusal);

}  // namespace rowan
