// SPDX-License-Identifier: GPL-2.0-only
#include "mvcc/lock/lock_bucket.h"

#include <algorithm>
#include <bit>

#include "base/assertions.h"
#include "mvcc/txn/txn.h"

namespace rowan {
namespace {

constexpr uint64_t kBucketsMin = uint64_t{1} << 10;
/// 8 MiB, for short chains with a million entries. There are rarely that many, however large the
/// memory limit: a transaction folds those above a thousand or two.
constexpr uint64_t kBucketsMax = uint64_t{1} << 18;
/// One bucket (32 bytes) per four requests of a full table: short chains, a tenth of its memory.
constexpr uint64_t kMemoryPerBucket = 4 * sizeof(LockRequest);

void PushToOwner(LockRequest* request) {
  Txn* txn = request->owner;
  ROWAN_DCHECK(txn != nullptr);
  request->txn_next = txn->locks.newest.load(std::memory_order_relaxed);
  while (!txn->locks.newest.compare_exchange_weak(
      request->txn_next, request, std::memory_order_release, std::memory_order_relaxed)) {
  }
  txn->locks.request_count.fetch_add(1, std::memory_order_relaxed);
}

void PopFromOwner(LockRequest* request) {
  Txn* txn = request->owner;
  ROWAN_DCHECK(txn->locks.newest.load(std::memory_order_relaxed) != nullptr);
  txn->locks.request_count.fetch_sub(1, std::memory_order_relaxed);
  LockRequest* head = request;
  if (txn->locks.newest.compare_exchange_strong(head, request->txn_next,
                                                std::memory_order_acquire)) {
    return;
  }
  // Others only push in front, so after its head the list is the owner's alone.
  LockRequest* before = head;
  while (before->txn_next != request) before = before->txn_next;
  before->txn_next = request->txn_next;
}

}  // namespace

LockBuckets::LockBuckets(uint64_t memory_bytes_max)
    : mask_(
          std::clamp(std::bit_ceil(memory_bytes_max / kMemoryPerBucket), kBucketsMin, kBucketsMax) -
          1),
      buckets_(std::make_unique<LockBucket[]>(mask_ + 1)) {}

void LockBucket::Link(LockRequest* request, LockRequest* before) {
  ROWAN_DCHECK(before == nullptr || before->key == request->key);
  LockRequest* previous = before == nullptr ? last : before->chain_previous;
  request->chain_next = before;
  request->chain_previous = previous;
  if (previous == nullptr) {
    first.store(request, std::memory_order_release);
  } else {
    previous->chain_next = request;
  }
  (before == nullptr ? last : before->chain_previous) = request;
}

bool LockBucket::GrantedStandFirst(LockKey key) const {
  bool waiting = false;
  const LockRequest* request = first.load(std::memory_order_relaxed);
  for (; request != nullptr; request = request->chain_next) {
    if (request->key != key) continue;
    if (waiting && request->granted()) return false;
    waiting = waiting || !request->granted();
  }
  return true;
}

void LockBucket::Unlink(LockRequest* request) {
  LockRequest* previous = request->chain_previous;
  LockRequest* next = request->chain_next;
  ROWAN_DCHECK(previous == nullptr ? first.load(std::memory_order_relaxed) == request
                                   : previous->chain_next == request);
  ROWAN_DCHECK(next == nullptr ? last == request : next->chain_previous == request);
  if (previous == nullptr) {
    first.store(next, std::memory_order_release);
  } else {
    previous->chain_next = next;
  }
  (next == nullptr ? last : next->chain_previous) = previous;
}

LockRequest* LockBucket::FirstWaiting(LockKey key) const {
  if (waiting_count == 0) return nullptr;
  LockRequest* request = first.load(std::memory_order_relaxed);
  while (request != nullptr && (request->key != key || request->granted())) {
    request = request->chain_next;
  }
  return request;
}

LockRequest* LockBucket::FirstAfterUpgrades(LockKey key) const {
  LockRequest* request = FirstWaiting(key);
  while (request != nullptr && (request->key != key || request->upgrade)) {
    request = request->chain_next;
  }
  return request;
}

LockRequest* LockBucket::FindCovering(const Txn* txn, LockKey key, LockMode mode,
                                      LockKind kind) const {
  LockRequest* request = first.load(std::memory_order_relaxed);
  for (; request != nullptr; request = request->chain_next) {
    if (request->owner == txn && request->key == key && request->granted() &&
        LockCovers(request->mode, request->kind, mode, kind)) {
      return request;
    }
  }
  return nullptr;
}

void LockBucket::GrantWaiters(LockKey key, bool record, bool gap, WakeList* wakes) {
  if (waiting_count == 0) return;
  QueueSummary granted;
  QueueSummary waiting;
  LockRequest* first_waiting = nullptr;
  LockRequest* next = nullptr;
  LockRequest* request = first.load(std::memory_order_relaxed);
  for (; request != nullptr; request = next) {
    next = request->chain_next;
    if (request->key != key) continue;
    if (request->granted()) {
      granted.Add(request->owner, request->mode, request->kind);
      continue;
    }
    if (first_waiting == nullptr) first_waiting = request;
    const bool intention = request->kind == LockKind::kInsertIntention;
    if (intention ? !gap : !record) continue;
    const bool past_waiting = request->upgrade || intention;
    if (granted.Blocks(request->owner, request->mode, request->kind) ||
        (!past_waiting && waiting.Blocks(request->owner, request->mode, request->kind))) {
      waiting.Add(request->owner, request->mode, request->kind);
      // Only insert intentions get past a blocked exclusive request.
      if (!gap && !request->upgrade && request->mode == LockMode::kExclusive &&
          HasRecordPart(request->kind)) {
        return;
      }
      continue;
    }
    if (request == first_waiting) {
      first_waiting = nullptr;  // the next waiting request takes its place
    } else {
      Unlink(request);
      Link(request, first_waiting);
    }
    granted.Add(request->owner, request->mode, request->kind);
    ROWAN_DCHECK(waiting_count != 0);
    --waiting_count;
    request->word.fetch_or(LockRequest::kGranted, std::memory_order_acq_rel);
    wakes->Add(request);
  }
}

void LockBucket::AddGranted(LockRequest* request) {
  latch.AssertHeld();
  ROWAN_DCHECK(!request->granted());
  request->word.store(LockRequest::kGranted, std::memory_order_release);
  Link(request, FirstWaiting(request->key));
  PushToOwner(request);
  ROWAN_DCHECK(GrantedStandFirst(request->key));
}

void LockBucket::AddWaiting(LockRequest* request) {
  latch.AssertHeld();
  ROWAN_DCHECK(!request->granted());
  Link(request, request->upgrade ? FirstAfterUpgrades(request->key) : nullptr);
  ++waiting_count;
  PushToOwner(request);
  ROWAN_DCHECK(GrantedStandFirst(request->key));
}

void LockBucket::Remove(LockRequest* request, WakeList* wakes) {
  latch.AssertHeld();
  ROWAN_DCHECK(request->granted() || waiting_count != 0);
  PopFromOwner(request);
  Unlink(request);
  if (!request->granted()) --waiting_count;
  GrantWaiters(request->key,
               HasRecordPart(request->kind) || request->kind == LockKind::kUniqueValue,
               HasGapPart(request->kind), wakes);
  ROWAN_DCHECK(GrantedStandFirst(request->key));
}

void LockBucket::HandOver(LockRequest* request, Txn* to) const {
  latch.AssertHeld();
  ROWAN_DCHECK(request->granted());
  ROWAN_DCHECK(request->owner != to);
  PopFromOwner(request);
  request->owner = to;
  PushToOwner(request);
}

QueueScan LockBucket::Scan(const LockAttempt& attempt) const {
  QueueScan scan;
  LockRequest* request = first.load(std::memory_order_relaxed);
  for (; request != nullptr && scan.covering == nullptr; request = request->chain_next) {
    if (request->key != attempt.target) continue;
    if (!request->granted()) {
      scan.waiting.Add(request->owner, request->mode, request->kind);
      if (scan.Conflicts(attempt.txn, attempt.mode, attempt.kind)) break;
      continue;
    }
    scan.granted.Add(request->owner, request->mode, request->kind);
    if (request->owner != attempt.txn) continue;
    if (LockCovers(request->mode, request->kind, attempt.mode, attempt.kind)) {
      scan.covering = request;
    }
    if (HasRecordPart(attempt.kind) && HasRecordPart(request->kind)) scan.owns_record = true;
  }
  return scan;
}

}  // namespace rowan
