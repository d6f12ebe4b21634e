// SPDX-License-Identifier: GPL-2.0-only
#include "wal/log_buffer.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/assertions.h"

namespace rowan {

LogBuffer::LogBuffer(uint64_t size_bytes, Lsn start, uint32_t epoch)
    : ring_(size_bytes),
      mask_(size_bytes - 1),
      epoch_(epoch),
      tail_(start.value()),
      content_end_(start.value()) {
  ROWAN_CHECK(std::has_single_bit(size_bytes));
  ROWAN_CHECK(size_bytes > kLogBlockBytes);
}

Lsn LogBuffer::TryAppend(GroupBuilder* group, const std::atomic<uint64_t>& durable) {
  const Bytes bytes = group->bytes();
  latch_.LockExclusive();
  const uint64_t start = tail_.load(std::memory_order_relaxed);
  const uint64_t end = start + bytes.size();
  // Acquire: the ring's bytes below it were read for writing before it was published.
  const uint64_t mark = durable.load(std::memory_order_acquire);
  if (closed_ || end > EndOfRoom(mark)) {
    latch_.UnlockExclusive();
    return kNoLsn;
  }
  group->Seal(Lsn(start), epoch_, Lsn(mark));
  CopyIn(start, bytes);
  ends_with_mark_.store(group->empty(), std::memory_order_relaxed);
  content_end_.store(end, std::memory_order_release);
  tail_.store(end, std::memory_order_release);
  latch_.UnlockExclusive();
  return Lsn(end);
}

Lsn LogBuffer::Skip(uint64_t size_bytes) {
  latch_.LockExclusive();
  closed_ = true;
  const uint64_t end = tail_.load(std::memory_order_relaxed) + size_bytes;
  tail_.store(end, std::memory_order_release);
  latch_.UnlockExclusive();
  return Lsn(end);
}

void LogBuffer::CopyIn(uint64_t position, Bytes bytes) {
  const size_t offset = position & mask_;
  const size_t first = std::min(bytes.size(), ring_.size() - offset);
  std::memcpy(ring_.data() + offset, bytes.data(), first);
  if (first < bytes.size()) {
    std::memcpy(ring_.data(), bytes.data() + first, bytes.size() - first);
  }
}

void LogBuffer::CopyOut(uint64_t position, MutableBytes target) const {
  const size_t offset = position & mask_;
  const size_t first = std::min(target.size(), ring_.size() - offset);
  std::memcpy(target.data(), ring_.data() + offset, first);
  if (first < target.size()) {
    std::memcpy(target.data() + first, ring_.data(), target.size() - first);
  }
}

Bytes LogBuffer::Contiguous(uint64_t position, uint64_t end) const {
  const size_t offset = position & mask_;
  return {ring_.data() + offset, std::min<uint64_t>(end - position, ring_.size() - offset)};
}

}  // namespace rowan
