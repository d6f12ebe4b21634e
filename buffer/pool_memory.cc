// SPDX-License-Identifier: GPL-2.0-only
#include "buffer/pool_memory.h"

#include <string>

#include "base/format.h"
#include "base/logging.h"
#include "buffer/frame.h"
#include "buffer/page_table.h"

namespace rowan {
namespace {

/// Part of the memory that descriptors may take. So a pool of 16 KiB pages is refused beyond 14
/// times the memory, one of 4 KiB pages beyond 3.5 times.
constexpr uint64_t kDescriptorShare = 8;
constexpr uint64_t kDescriptorBytes = sizeof(Frame) + PageTable::kBytesPerEntryMax;

double Gib(uint64_t bytes) { return static_cast<double>(bytes) / (1 << 30); }

/// "the machine has 23.4 GiB" or "the control group of the process may take 2.0 GiB".
std::string Described(const MachineMemory& memory) {
  return memory.group_bytes < memory.machine_bytes
             ? Format("the control group of the process may take {:.1f} GiB",
                      Gib(memory.group_bytes))
             : Format("the machine has {:.1f} GiB", Gib(memory.machine_bytes));
}

}  // namespace

uint64_t DescriptorBytes(uint64_t pool_bytes, uint32_t page_size_bytes) {
  return pool_bytes / page_size_bytes * kDescriptorBytes;
}

uint64_t PoolBytesMax(uint32_t page_size_bytes, const MachineMemory& memory) {
  return memory.bytes() / kDescriptorShare / kDescriptorBytes * page_size_bytes;
}

Status RefusePoolBeyondMemory(uint64_t pool_bytes, uint32_t page_size_bytes,
                              const MachineMemory& memory) {
  if (pool_bytes <= PoolBytesMax(page_size_bytes, memory)) return Status::Ok();
  LogError(
      "rowan_buffer_pool_size = {} ({:.1f} GiB) is refused: the descriptors of its pages alone "
      "would take {:.1f} GiB, and {}. Set it to at most three quarters of that.",
      pool_bytes, Gib(pool_bytes), Gib(DescriptorBytes(pool_bytes, page_size_bytes)),
      Described(memory));
  return Status(Code::kInvalidArgument,
                "the buffer pool is far larger than the memory; see the error log");
}

void WarnOfPoolBeyondMemory(uint64_t pool_bytes, uint32_t page_size_bytes,
                            const MachineMemory& memory) {
  const uint64_t descriptors = DescriptorBytes(pool_bytes, page_size_bytes);
  if (pool_bytes + descriptors <= memory.bytes()) return;
  LogWarning(
      "rowan_buffer_pool_size = {} ({:.1f} GiB, and {:.1f} GiB for descriptors when it is full) "
      "is more than there is: {}. The system may end the server when the pool fills; set "
      "it to at most three quarters of that.",
      pool_bytes, Gib(pool_bytes), Gib(descriptors), Described(memory));
}

}  // namespace rowan
