// SPDX-License-Identifier: GPL-2.0-only
// The log's ring in memory: where groups get their LSN and wait for the disk. The byte of an LSN
// lies at LSN modulo size, so 4 KiB blocks of the stream are 4 KiB blocks of aligned memory and can
// be written from here without a copy.
//
// Invariants:
//   1. [reusable limit, tail) is intact, where the reusable limit is the start of the 4 KiB block
//      in which the log stops being durable: unsynced bytes and the block to rewrite stay here.
//   2. content end only moves under the latch, by whole groups, after their bytes are in place: who
//      reads it may read all bytes below it. The tail is the same until the log stops; then the
//      content ends for good and the tail goes on alone.
// Thread safety: all members from any thread; readers of bytes stay within invariant 1.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/latch.h"
#include "io/aligned_buffer.h"
#include "wal/group.h"

namespace rowan {

/// Log writes start and end at multiples of this.
inline constexpr uint64_t kLogBlockBytes = kDirectAlignment;

[[nodiscard]] constexpr uint64_t LogBlockStart(uint64_t position) {
  return position & ~(kLogBlockBytes - 1);
}
[[nodiscard]] constexpr uint64_t LogBlockEnd(uint64_t position) {
  return LogBlockStart(position + kLogBlockBytes - 1);
}

class LogBuffer {
 public:
  /// `size_bytes` is a power of two. The stream goes on at `start`.
  LogBuffer(uint64_t size_bytes, Lsn start, uint32_t epoch);

  /// Gives the group its place and copies it in. kNoLsn when the ring has no room now, and
  /// always after a Skip. `durable` may be behind, never ahead. REQUIRES group->Finish().
  Lsn TryAppend(GroupBuilder* group, const std::atomic<uint64_t>& durable);
  /// Moves the tail without storing anything, for a log that stopped. Nothing can be appended any
  /// more.
  Lsn Skip(uint64_t size_bytes);

  [[nodiscard]] Lsn tail() const { return Lsn(tail_.load(std::memory_order_acquire)); }
  /// What may be written to the files.
  [[nodiscard]] Lsn content_end() const {
    return Lsn(content_end_.load(std::memory_order_acquire));
  }
  [[nodiscard]] uint64_t size_bytes() const { return ring_.size(); }
  /// First LSN that has no place while the log is durable up to `durable`.
  [[nodiscard]] uint64_t EndOfRoom(uint64_t durable) const {
    return LogBlockStart(durable) + ring_.size();
  }
  /// The newest group carries no records: it only says how far the log is durable.
  [[nodiscard]] bool EndsWithMark() const {
    return ends_with_mark_.load(std::memory_order_relaxed);
  }

  /// Copies bytes of the stream out.
  void CopyOut(uint64_t position, MutableBytes target) const;
  /// The bytes from `position` on, at most up to `end` and to where the ring wraps.
  [[nodiscard]] Bytes Contiguous(uint64_t position, uint64_t end) const;
  /// For opening: puts back the bytes of the stream's last block.
  void Restore(uint64_t position, Bytes bytes) { CopyIn(position, bytes); }

 private:
  void CopyIn(uint64_t position, Bytes bytes);

  AlignedBuffer ring_;
  const uint64_t mask_;
  const uint32_t epoch_;
  alignas(64) Latch latch_;
  bool closed_ = false;  // guarded by latch_
  // Stored under latch_ with release, read by anyone with acquire.
  std::atomic<uint64_t> tail_;
  std::atomic<uint64_t> content_end_;
  std::atomic<bool> ends_with_mark_{true};
};

}  // namespace rowan
