// SPDX-License-Identifier: GPL-2.0-only
// LogSpace: admission to the log. An appender reserves before it latches anything, so that no
// thread waits for log space while it holds a latch.
//
// Invariant: tail + reserved <= limit when a reservation is granted, where limit is the smallest of
//   checkpoint + capacity      recovery must find all it needs
//   end of the ready files     appending must not wait for a file
//   end of the ring's room     appending must not wait for a sync
// The three only grow (except for the capacity), so a stale limit errs on the safe side. A
// reservation counts in full until it is released, even for what was appended under it.
//
// Waiters form a queue: the first gets what becomes free, so small reservations do not starve a
// large one. Thread safety: all members from any thread unless said otherwise.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "base/ids.h"
#include "base/mutex.h"
#include "base/status.h"

namespace rowan {

class CommitQueue;
class LogBuffer;
class LogFileSet;

class LogSpace {
 public:
  /// What a waiter calls, without locks, to end its wait.
  struct Hooks {
    std::function<Status()> make_durable;        ///< frees the ring
    std::function<void(Lsn end)> prepare_files;  ///< files are needed up to `end`
  };
  LogSpace(const LogBuffer* buffer, const CommitQueue* queue, const LogFileSet* files, Hooks hooks);

  /// Call before threads start.
  void Start(Lsn checkpoint, uint64_t capacity_bytes);

  bool TryReserve(uint32_t bytes);
  Status ReserveOrWait(uint32_t bytes);
  void Release(uint32_t bytes);
  /// Room was freed: lets the first waiter check again. Cheap when no thread waits.
  void RoomFreed() {
    if (waiters_.load(std::memory_order_seq_cst) != 0) WakeFirst();
  }
  void Stop();

  void SetCheckpoint(Lsn lsn);
  [[nodiscard]] Lsn checkpoint() const { return checkpoint_.load(std::memory_order_acquire); }
  void SetCapacity(uint64_t capacity_bytes);
  [[nodiscard]] uint64_t capacity_bytes() const {
    return capacity_.load(std::memory_order_acquire);
  }
  /// An empty function removes it; no call is in progress afterwards.
  void SetPressureCallback(std::function<void()> callback);
  /// More than half of the ring waits for the disk.
  [[nodiscard]] bool RingIsHalfFull() const;

 private:
  struct Waiter;

  [[nodiscard]] bool Fits(Lsn end) const;
  [[nodiscard]] bool CouldEverFit(uint32_t bytes) const;
  Status WaitFirst(Waiter* self, uint32_t bytes);
  void Relieve(Lsn end);
  void Leave(Waiter* self);
  void WakeFirst();

  const LogBuffer* const buffer_;
  const CommitQueue* const queue_;
  const LogFileSet* const files_;
  const Hooks hooks_;
  std::atomic<Lsn> checkpoint_{kNoLsn};
  std::atomic<uint64_t> capacity_{0};
  std::atomic<bool> stopped_{false};

  alignas(64) std::atomic<uint64_t> reserved_{0};
  std::atomic<uint32_t> waiters_{0};

  alignas(64) Mutex mutex_{LatchRank::kLogSpace};
  Waiter* first_ ROWAN_GUARDED_BY(mutex_) = nullptr;
  Waiter* last_ ROWAN_GUARDED_BY(mutex_) = nullptr;

  Mutex callback_mutex_{LatchRank::kLogSpaceCallback};  // held during the call
  std::function<void()> pressure_callback_ ROWAN_GUARDED_BY(callback_mutex_);
};

}  // namespace rowan
