// SPDX-License-Identifier: GPL-2.0-only
#include "io/file.h"

#include "io/kernel_queue.h"

namespace rowan {

Result<std::unique_ptr<AsyncQueue>> FileSystem::MakeQueue(QueueKind kind, uint32_t entries,
                                                          std::string* refusal) {
  return kind == QueueKind::kUring ? MakeUringQueue(entries, refusal)
                                   : MakeAioQueue(entries, refusal);
}

}  // namespace rowan
