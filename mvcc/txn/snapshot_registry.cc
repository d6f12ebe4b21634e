// SPDX-License-Identifier: GPL-2.0-only
#include "mvcc/txn/snapshot_registry.h"

#include <algorithm>

#include "base/assertions.h"

namespace rowan {

SnapshotRegistry::~SnapshotRegistry() {
  for (std::atomic<Chunk*>& chunk : chunks_) delete chunk.load(std::memory_order_relaxed);
}

uint32_t SnapshotRegistry::AcquireSlot() {
  const MutexLock lock(&free_mutex_);
  if (!free_.empty()) {
    const uint32_t slot = free_.back();
    ROWAN_DCHECK(At(slot).csn.load(std::memory_order_relaxed) == 0);
    free_.pop_back();
    return slot;
  }
  const uint32_t slot = slot_count_.load(std::memory_order_relaxed);
  ROWAN_CHECK(slot < kChunkSlots * kChunksMax);
  std::atomic<Chunk*>& chunk = chunks_[slot / kChunkSlots];
  if (chunk.load(std::memory_order_relaxed) == nullptr) {
    chunk.store(new Chunk(), std::memory_order_release);
  }
  // Before its first snapshot: a scan that misses the slot is caught by the announcement.
  slot_count_.store(slot + 1, std::memory_order_seq_cst);
  return slot;
}

void SnapshotRegistry::ReleaseSlot(uint32_t slot) {
  ROWAN_DCHECK(slot < slot_count_.load(std::memory_order_relaxed));
  Withdraw(slot);
  const MutexLock lock(&free_mutex_);
  free_.push_back(slot);
}

OldestSnapshot SnapshotRegistry::Oldest(uint64_t now_ms) const {
  OldestSnapshot oldest;
  uint64_t oldest_csn = UINT64_MAX;
  const uint32_t count = slot_count_.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < count; ++i) {
    const Slot& slot = At(i);
    const uint64_t csn = slot.csn.load(std::memory_order_acquire);
    if (csn == 0 || csn >= oldest_csn) continue;
    oldest_csn = csn;
    const uint64_t opened_ms = slot.opened_ms.load(std::memory_order_relaxed);
    oldest.open = true;
    oldest.age_ms = now_ms > opened_ms ? now_ms - opened_ms : 0;
    oldest.thread = slot.thread.load(std::memory_order_relaxed);
  }
  return oldest;
}

void SnapshotRegistry::FindOldest(TxnId* low_txn, Csn* csn, std::vector<Snapshot>* snapshots) {
  announced_low_.store(low_txn->value(), std::memory_order_seq_cst);
  announced_csn_.store(csn->value(), std::memory_order_seq_cst);
  const uint32_t count = slot_count_.load(std::memory_order_seq_cst);
  for (uint32_t i = 0; i < count; ++i) {
    const Slot& slot = At(i);
    const Csn slot_csn(slot.csn.load(std::memory_order_seq_cst));
    if (slot_csn.value() == 0) continue;
    ROWAN_DCHECK(slot_csn.value() < UINT64_MAX / 2);
    const TxnId slot_low(slot.low.load(std::memory_order_acquire));
    const TxnId slot_high(slot.high.load(std::memory_order_acquire));
    *csn = std::min(*csn, slot_csn);
    *low_txn = std::min(*low_txn, slot_low);
    if (snapshots != nullptr) snapshots->push_back({slot_low, slot_high, slot_csn, i});
  }
}

}  // namespace rowan
