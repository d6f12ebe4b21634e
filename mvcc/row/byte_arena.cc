// SPDX-License-Identifier: GPL-2.0-only
#include "mvcc/row/byte_arena.h"

#include <algorithm>

namespace rowan {

void ByteArena::Grow(size_t more) {
  const size_t capacity = std::max<size_t>(1024, std::max(2 * capacity_, size_ + more));
  auto bytes = std::make_unique_for_overwrite<std::byte[]>(capacity);
  if (size_ != 0) std::memcpy(bytes.get(), bytes_.get(), size_);
  bytes_ = std::move(bytes);
  capacity_ = capacity;
}

}  // namespace rowan
