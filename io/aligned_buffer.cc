// SPDX-License-Identifier: GPL-2.0-only
#include "io/aligned_buffer.h"

#include <cstdlib>
#include <cstring>

#include "base/assertions.h"

namespace rowan {

AlignedBuffer::AlignedBuffer(size_t size_bytes) : size_bytes_(size_bytes) {
  // aligned_alloc wants a multiple of the alignment; an empty buffer still owns one unit.
  const size_t units = size_bytes == 0 ? 1 : (size_bytes - 1) / kDirectAlignment + 1;
  auto* memory = static_cast<std::byte*>(
      std::aligned_alloc(kDirectAlignment, units * kDirectAlignment));
  ROWAN_CHECK(memory != nullptr);
  std::memset(memory, 0, size_bytes);
  bytes_.reset(memory);
}

void AlignedBuffer::Free::operator()(std::byte* memory) const noexcept { std::free(memory); }

}  // namespace rowan
