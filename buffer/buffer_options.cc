// SPDX-License-Identifier: GPL-2.0-only
#include "buffer/buffer_options.h"

namespace rowan {

Status CheckBufferOptions(const BufferOptions& options, uint32_t page_size_bytes) {
  const uint64_t pages = options.pool_bytes / page_size_bytes;
  if (pages < kPoolPagesMin) {
    return Status(Code::kInvalidArgument, "the buffer pool is smaller than 16 pages");
  }
  if (options.pool_bytes > kPoolBytesLimits.greatest || pages > UINT32_MAX / 2) {
    return Status(Code::kInvalidArgument, "the buffer pool has more pages than are supported");
  }
  if (!kIoCapacityLimits.Allow(options.io_capacity_pages_per_second)) {
    return Status(Code::kInvalidArgument, "the I/O capacity is out of its limits");
  }
  if (!kCleanersLimits.Allow(options.cleaners)) {
    return Status(Code::kInvalidArgument, "there are too many page cleaners");
  }
  return Status::Ok();
}

}  // namespace rowan
