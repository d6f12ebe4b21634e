// SPDX-License-Identifier: GPL-2.0-only
#include "buffer/huge_memory.h"

#include <sys/mman.h>

#include <cstdint>

#include "base/assertions.h"

namespace rowan {
namespace {}  // namespace

HugeMemory::HugeMemory(size_t size_bytes) {
  const bool huge = size_bytes >= kHugePageBytes;
  mapping_bytes_ = huge ? size_bytes + kHugePageBytes : size_bytes;
  mapping_ = ::mmap(nullptr, mapping_bytes_, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ROWAN_CHECK(mapping_ != MAP_FAILED);
  const auto start = reinterpret_cast<uintptr_t>(mapping_);
  const uintptr_t aligned = (start + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes;
  data_ = huge ? reinterpret_cast<void*>(aligned) : mapping_;
  // Advice only: without huge pages everything works, slower.
  if (huge) (void)::madvise(data_, size_bytes, MADV_HUGEPAGE);
  (void)::madvise(data_, size_bytes, MADV_DONTDUMP);
}

HugeMemory::~HugeMemory() { ::munmap(mapping_, mapping_bytes_); }

}  // namespace rowan
