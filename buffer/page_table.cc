// SPDX-License-Identifier: GPL-2.0-only
// Writers and the overflow chains of the page table. See page_table.h.
#include "buffer/page_table.h"

#include <sched.h>

#include <algorithm>
#include <bit>
#include <new>

#include "base/assertions.h"

namespace rowan {

class PageTable::BucketLock {
 public:
  explicit BucketLock(Bucket* bucket) : bucket_(bucket) {
    for (unsigned spins = 0;; ++spins) {
      uint64_t word = bucket_->word.load(std::memory_order_relaxed);
      if ((word & 1) == 0 &&
          bucket_->word.compare_exchange_weak(word, word | 1, std::memory_order_acquire,
                                              std::memory_order_relaxed)) {
        return;
      }
      Pause(spins);
    }
  }
  ~BucketLock() {
    ROWAN_DCHECK((bucket_->word.load(std::memory_order_relaxed) & 1) != 0);
    bucket_->word.fetch_add(1, std::memory_order_release);
  }
  BucketLock(const BucketLock&) = delete;
  BucketLock& operator=(const BucketLock&) = delete;

 private:
  Bucket* const bucket_;
};

PageTable::PageTable(uint32_t frames)
    : capacity_(frames),
      bucket_count_(std::bit_ceil(std::max<uint64_t>(frames / 2, 16))),
      shift_(64 - static_cast<unsigned>(std::countr_zero(bucket_count_))),
      bucket_memory_(bucket_count_ * sizeof(Bucket)),
      node_memory_((size_t{frames} + 1) * sizeof(Node)),
      // Not constructed, which would write all of them: their initial state is zeros.
      buckets_(static_cast<Bucket*>(bucket_memory_.data())),
      nodes_(static_cast<Node*>(node_memory_.data())) {}

void PageTable::Pause(unsigned spins) {
  // The holder is inside for some dozen instructions; only preemption can delay it.
  constexpr unsigned kSpinsBeforeYield = 64;
  if (spins > kSpinsBeforeYield) {
    ::sched_yield();
    return;
  }
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

uint32_t PageTable::LookupOverflow(const Bucket& bucket, uint64_t word, uint64_t key) const {
  uint32_t node = bucket.overflow.load(std::memory_order_acquire);
  while (node != kNoNode) {
    if (nodes_[node].key.load(std::memory_order_acquire) == key) {
      return nodes_[node].frame.load(std::memory_order_acquire);
    }
    node = nodes_[node].next.load(std::memory_order_acquire);
    // A chain changed underneath may lead anywhere, even in circles.
    if (bucket.word.load(std::memory_order_relaxed) != word) return kNone;
  }
  return kNone;
}

uint32_t PageTable::FindLocked(const Bucket& bucket, uint64_t key) const {
  ROWAN_DCHECK((bucket.word.load(std::memory_order_relaxed) & 1) != 0);
  for (size_t i = 0; i < kInlineEntries; ++i) {
    if (bucket.keys[i].load(std::memory_order_relaxed) == key) {
      return bucket.frames[i].load(std::memory_order_relaxed);
    }
  }
  uint32_t node = bucket.overflow.load(std::memory_order_relaxed);
  while (node != kNoNode) {
    if (nodes_[node].key.load(std::memory_order_relaxed) == key) {
      return nodes_[node].frame.load(std::memory_order_relaxed);
    }
    node = nodes_[node].next.load(std::memory_order_relaxed);
  }
  return kNone;
}

// Stores inside a locked bucket are releases: a reader that sees one also sees the lock bit when it
// reloads the word, and does not trust a miss.
uint32_t PageTable::InsertIfAbsent(uint64_t key, uint32_t frame) {
  ROWAN_CHECK(key != 0);
  ROWAN_DCHECK(frame != kNone);
  Bucket* bucket = &buckets_[BucketIndex(key)];
  BucketLock lock(bucket);
  const uint32_t present = FindLocked(*bucket, key);
  if (present != kNone) return present;
  for (size_t i = 0; i < kInlineEntries; ++i) {
    if (bucket->keys[i].load(std::memory_order_relaxed) != 0) continue;
    bucket->frames[i].store(frame, std::memory_order_release);
    bucket->keys[i].store(key, std::memory_order_release);
    return kNone;
  }
  const uint32_t node = TakeNode();
  nodes_[node].next.store(bucket->overflow.load(std::memory_order_relaxed),
                          std::memory_order_release);
  nodes_[node].frame.store(frame, std::memory_order_release);
  nodes_[node].key.store(key, std::memory_order_release);
  ROWAN_DCHECK(node != kNoNode && FindLocked(*bucket, key) == kNone);
  bucket->overflow.store(node, std::memory_order_release);
  return kNone;
}

bool PageTable::Remove(uint64_t key, uint32_t frame) {
  ROWAN_CHECK(key != 0);
  Bucket* bucket = &buckets_[BucketIndex(key)];
  BucketLock lock(bucket);
  for (size_t i = 0; i < kInlineEntries; ++i) {
    if (bucket->keys[i].load(std::memory_order_relaxed) != key) continue;
    if (bucket->frames[i].load(std::memory_order_relaxed) != frame) return false;
    bucket->keys[i].store(0, std::memory_order_release);
    PromoteOverflow(bucket, i);
    return true;
  }
  std::atomic<uint32_t>* link = &bucket->overflow;
  for (uint32_t node = link->load(std::memory_order_relaxed); node != kNoNode;
       node = link->load(std::memory_order_relaxed)) {
    if (nodes_[node].key.load(std::memory_order_relaxed) == key) {
      if (nodes_[node].frame.load(std::memory_order_relaxed) != frame) return false;
      link->store(nodes_[node].next.load(std::memory_order_relaxed), std::memory_order_release);
      GiveNode(node);
      return true;
    }
    link = &nodes_[node].next;
  }
  return false;
}

void PageTable::PromoteOverflow(Bucket* bucket, size_t slot) {
  const uint32_t node = bucket->overflow.load(std::memory_order_relaxed);
  if (node == kNoNode) return;
  ROWAN_DCHECK(bucket->keys[slot].load(std::memory_order_relaxed) == 0);
  bucket->frames[slot].store(nodes_[node].frame.load(std::memory_order_relaxed),
                             std::memory_order_release);
  bucket->keys[slot].store(nodes_[node].key.load(std::memory_order_relaxed),
                           std::memory_order_release);
  bucket->overflow.store(nodes_[node].next.load(std::memory_order_relaxed),
                         std::memory_order_release);
  GiveNode(node);
}

uint32_t PageTable::TakeNode() {
  const MutexLock guard(&free_nodes_mutex_);
  if (free_nodes_.empty()) {
    // Entries never exceed frames, so neither do overflow nodes.
    ROWAN_CHECK(fresh_node_ <= capacity_);
    return fresh_node_++;
  }
  const uint32_t node = free_nodes_.back();
  free_nodes_.pop_back();
  return node;
}

void PageTable::GiveNode(uint32_t node) {
  const MutexLock guard(&free_nodes_mutex_);
  ROWAN_DCHECK(node != kNoNode && node < fresh_node_);
  ROWAN_DCHECK(free_nodes_.size() < fresh_node_ - 1);
  free_nodes_.push_back(node);
}

}  // namespace rowan
