// SPDX-License-Identifier: GPL-2.0-only
// WriteBatch over an AsyncQueue: io_uring or libaio.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"
#include "io/async_queue.h"
#include "io/file.h"
#include "io/write_batch.h"

namespace rowan {

/// kUnsupported when the system does not permit it; `*refusal` then says why, without a full stop.
Result<std::unique_ptr<WriteBatch>> MakeQueueBatch(FileSystem* file_system, QueueKind kind,
                                                   uint32_t depth, std::string* refusal);

}  // namespace rowan
