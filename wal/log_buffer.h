// SPDX-License-Identifier: GPL-2.0-only
// The log's ring in memory: where groups get their LSN and wait for the disk. The byte at an LSN
// lies at LSN modulo size, so 4 KiB blocks of the stream are 4 KiB blocks of aligned memory and are
// written from here without a copy.
//
// Appending takes no lock: a compare-and-exchange of the tail gives the group its place, and
// threads compute header checksums and copy concurrently. Each appender announces, in a slot of its
// own, a position at or before its place until its bytes are in.
//
// Invariants:
//   1. [reusable limit, content end) is intact, where the reusable limit is the start of the 4 KiB
//      block in which the log stops being durable: unsynced bytes and the block to rewrite stay.
//   2. an appender takes a place only while its slot announces a position not beyond it. So a
//      thread that reads the tail first and then the slots knows that below the tail and all
//      announced positions every byte is in place. That is the content end; it never goes back.
//   3. Until the log stops, the content end reaches every tail without outside help. After that the
//      content end stays where the tail was, and only the tail moves.
// Thread safety: all members from any thread; readers of bytes stay within invariant 1.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "base/bytes.h"
#include "base/ids.h"
#include "io/aligned_buffer.h"
#include "wal/group.h"

namespace rowan {

/// Log writes start and end at multiples of this.
inline constexpr uint64_t kLogBlockBytes = kDirectAlignment;

[[nodiscard]] constexpr Lsn LogBlockStart(Lsn position) {
  return Lsn(position.value() & ~(kLogBlockBytes - 1));
}
[[nodiscard]] constexpr Lsn LogBlockEnd(Lsn position) {
  return LogBlockStart(position + kLogBlockBytes - 1);
}

class LogBuffer {
 public:
  /// `size_bytes` is a power of two. The stream continues at `start`.
  LogBuffer(uint64_t size_bytes, Lsn start, uint32_t epoch);

  /// Gives the group its place and copies it in. kNoLsn when the ring has no room at the moment,
  /// and always after a Skip. `durable` may lag, but is never ahead. REQUIRES group->Finish().
  Lsn TryAppend(GroupBuilder* group, const std::atomic<Lsn>& durable);
  /// Moves the tail without storing anything, for a log that stopped. Nothing can be appended any
  /// more.
  Lsn Skip(uint64_t size_bytes);

  [[nodiscard]] Lsn tail() const { return Lsn(tail_.load(std::memory_order_acquire) & ~kClosed); }
  /// The end of what may be written to the files: at least all that was appended before the call.
  /// Waits for appenders that are copying (about a microsecond, or until the scheduler lets them
  /// continue).
  [[nodiscard]] Lsn AwaitContent();
  [[nodiscard]] uint64_t size_bytes() const { return ring_.size(); }
  /// First LSN without room while the log is durable up to `durable`.
  [[nodiscard]] Lsn EndOfRoom(Lsn durable) const { return LogBlockStart(durable) + ring_.size(); }
  /// The newest group carries no records: it only says up to where the log is durable.
  [[nodiscard]] bool EndsWithMark() const {
    return mark_end_.load(std::memory_order_relaxed) == tail();
  }

  /// Copies bytes of the stream out.
  void CopyOut(Lsn position, MutableBytes target) const;
  /// The bytes from `position` on, at most up to `end` and to where the ring wraps.
  [[nodiscard]] Bytes Contiguous(Lsn position, Lsn end) const;
  /// For opening: restores the bytes of the stream's last block.
  void Restore(Lsn position, Bytes bytes) { CopyIn(position, bytes); }

 private:
  /// Set in tail_ by the first Skip: nothing more is appended.
  static constexpr uint64_t kClosed = uint64_t{1} << 63;
  /// More than there are cores; a thread that finds all slots taken waits for one.
  static constexpr size_t kSlots = 64;
  static constexpr Lsn kIdle{UINT64_MAX};
  struct alignas(64) Slot {
    /// Announced position or kIdle. Claimed by the appender (exchange), freed with a release store
    /// after its bytes are in place; read by AwaitContent with acquire.
    std::atomic<Lsn> position{kIdle};
  };

  Slot* TakeSlot();
  /// The content end as far as can be seen now.
  Lsn SeenContentEnd();
  void CopyIn(Lsn position, Bytes bytes);

  AlignedBuffer ring_;
  const uint64_t mask_;
  const uint32_t epoch_;
  /// An LSN and kClosed; changed by compare-and-exchange only.
  alignas(64) std::atomic<uint64_t> tail_;
  alignas(64) std::atomic<Lsn> content_end_;         // raised by its readers
  std::atomic<Lsn> content_limit_{Lsn(UINT64_MAX)};  // stored before kClosed is
  std::atomic<Lsn> mark_end_;  // of the newest empty group; stored by its appender
  std::array<Slot, kSlots> slots_;
  /// How many of them were ever taken, at least; raised before the next one is taken.
  alignas(64) std::atomic<uint32_t> slots_used_{0};
};

}  // namespace rowan
