// SPDX-License-Identifier: GPL-2.0-only
// SnapshotRegistry: where open snapshots are published so that purge knows the oldest. A session
// keeps its slot between snapshots, so opening one costs a store with a fence and no search.
//
// Publish, fence, re-check: a horizon is announced first, then the slots are scanned. Either that
// scan sees the published snapshot, or the opener sees the announcement and takes a fresher
// snapshot. So no snapshot older than a horizon in force ever becomes active.
// Thread safety: all members; a slot is used by its owner only. Grows in chunks that never move.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/assertions.h"
#include "base/ids.h"
#include "base/mutex.h"
#include "mvcc/txn/oldest_snapshot.h"
#include "mvcc/txn/snapshot.h"

namespace rowan {

class SnapshotRegistry {
 public:
  SnapshotRegistry() = default;
  ~SnapshotRegistry();
  SnapshotRegistry(const SnapshotRegistry&) = delete;
  SnapshotRegistry& operator=(const SnapshotRegistry&) = delete;

  uint32_t AcquireSlot();
  void ReleaseSlot(uint32_t slot);

  /// False if a newer horizon was announced: read low_txn and the CSN again and repeat.
  bool Publish(uint32_t slot, TxnId low_txn, Csn csn) {
    ROWAN_DCHECK(csn != Csn(0) && slot < slot_count_.load(std::memory_order_relaxed));
    Slot& place = At(slot);
    place.high.store(UINT64_MAX, std::memory_order_relaxed);
    place.low.store(low_txn.value(), std::memory_order_relaxed);
    place.csn.exchange(csn.value(), std::memory_order_seq_cst);
    return announced_csn_.load(std::memory_order_seq_cst) <= csn.value() &&
           announced_low_.load(std::memory_order_seq_cst) <= low_txn.value();
  }
  /// Completes it with the first id not yet assigned, and its owner (Txn::thread).
  void SetHigh(uint32_t slot, TxnId high_txn, uint64_t thread) {
    Slot& place = At(slot);
    ROWAN_DCHECK(place.csn.load(std::memory_order_relaxed) != 0);
    ROWAN_DCHECK(place.low.load(std::memory_order_relaxed) <= high_txn.value());
    place.opened_ms.store(clock_ms_.load(std::memory_order_relaxed), std::memory_order_relaxed);
    place.thread.store(thread, std::memory_order_relaxed);
    place.high.store(high_txn.value(), std::memory_order_release);
  }
  /// Snapshots opened from now on get this time, so opening one reads no clock.
  void SetClock(uint64_t now_ms) { clock_ms_.store(now_ms, std::memory_order_relaxed); }
  /// Figures of the open snapshot with the least CSN, each right at some moment.
  [[nodiscard]] OldestSnapshot Oldest(uint64_t now_ms) const;
  void Withdraw(uint32_t slot) { At(slot).csn.store(0, std::memory_order_release); }

  /// Announces the present low_txn and next CSN, then lowers both to those of the oldest snapshot.
  /// With `snapshots`, also lists the open ones. One thread at a time.
  void FindOldest(TxnId* low_txn, Csn* csn, std::vector<Snapshot>* snapshots);

 private:
  struct alignas(64) Slot {
    std::atomic<uint64_t> csn{0};  ///< 0 = no snapshot: CSNs start at 1
    std::atomic<uint64_t> low{0};
    std::atomic<uint64_t> high{0};
    std::atomic<uint64_t> opened_ms{0};  // for operators, as is the next one
    std::atomic<uint64_t> thread{0};
  };
  static constexpr uint32_t kChunkSlots = 256;
  static constexpr uint32_t kChunksMax = 4096;  ///< a million sessions
  using Chunk = std::array<Slot, kChunkSlots>;

  [[nodiscard]] Slot& At(uint32_t slot) const {
    return (*chunks_[slot / kChunkSlots].load(std::memory_order_acquire))[slot % kChunkSlots];
  }

  std::atomic<uint64_t> announced_csn_{0};
  std::atomic<uint64_t> announced_low_{0};
  std::atomic<uint64_t> clock_ms_{0};
  std::atomic<uint32_t> slot_count_{0};  ///< slots ever handed out
  std::array<std::atomic<Chunk*>, kChunksMax> chunks_{};
  Mutex free_mutex_{LatchRank::kSnapshotSlots};
  std::vector<uint32_t> free_ ROWAN_GUARDED_BY(free_mutex_);
};

}  // namespace rowan
