// SPDX-License-Identifier: GPL-2.0-only
#include "io/aligned_buffer.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>

#include "base/assertions.h"

namespace rowan {
namespace {

constexpr size_t kHugePageBytes = size_t{2} << 20;

}  // namespace

AlignedBuffer::AlignedBuffer(size_t size_bytes) : size_bytes_(size_bytes) {
  // With huge pages the kernel need not look up, pin and send each 4 KiB on its own.
  const bool huge = size_bytes >= kHugePageBytes;
  const size_t alignment = huge ? kHugePageBytes : kDirectAlignment;
  // aligned_alloc wants a multiple of the alignment; an empty buffer still owns one unit.
  const size_t units = size_bytes == 0 ? 1 : (size_bytes - 1) / alignment + 1;
  auto* memory = static_cast<std::byte*>(std::aligned_alloc(alignment, units * alignment));
  ROWAN_CHECK(memory != nullptr);
  // Advice only: without huge pages everything works, slower.
  if (huge) (void)::madvise(memory, size_bytes, MADV_HUGEPAGE);
  std::memset(memory, 0, size_bytes);
  bytes_.reset(memory);
}

void AlignedBuffer::Free::operator()(std::byte* memory) const noexcept { std::free(memory); }

}  // namespace rowan
