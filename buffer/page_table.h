// SPDX-License-Identifier: GPL-2.0-only
// PageTable: page id -> frame number. Readers take no lock and write nothing.
//
// A bucket is one cache line: a word (bit 0 = a writer is inside, the rest a version), four inline
// entries and the head of an overflow chain. Buckets number at least half the frames, so a lookup
// nearly always touches one line.
//
// Invariants:
//   1. a page id is in the table at most once;
//   2. a lookup that finds nothing validated the bucket's version: at some moment during the call
//      the id was absent. A lookup that finds something is only a hint: the frame may have changed
//      hands, so the caller latches the frame and compares its page id;
//   3. memory is zero at first, lies in huge pages, and is taken as entries come;
//   4. overflow nodes are type-stable: a reader on a recycled node sees other entries, never
//      garbage, and fails to validate.
// Thread safety: all members from any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/mutex.h"
#include "buffer/huge_memory.h"

namespace rowan {

class PageTable {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;
  /// Memory per entry of a full table, at most: a bucket for each two entries, their number rounded
  /// up to a power of two, and a node.
  static constexpr uint64_t kBytesPerEntryMax = 64 + 16;

  /// For at most `frames` entries.
  explicit PageTable(uint32_t frames);

  /// Frame number, or kNone. `key` is PageId::Packed and not 0.
  [[nodiscard]] uint32_t Lookup(uint64_t key) const {
    const Bucket& bucket = buckets_[BucketIndex(key)];
    for (unsigned spins = 0;; ++spins) {
      const uint64_t word = bucket.word.load(std::memory_order_acquire);
      for (size_t i = 0; i < kInlineEntries; ++i) {
        // Acquire keeps the reload of the word below after this load (a seqlock without fences).
        if (bucket.keys[i].load(std::memory_order_acquire) == key) {
          return bucket.frames[i].load(std::memory_order_acquire);
        }
      }
      if (bucket.overflow.load(std::memory_order_acquire) != kNoNode) {
        const uint32_t frame = LookupOverflow(bucket, word, key);
        if (frame != kNone) return frame;
      }
      if ((word & 1) == 0 && bucket.word.load(std::memory_order_relaxed) == word) return kNone;
      Pause(spins);
    }
  }

  /// kNone when inserted; else the frame that already holds `key`.
  uint32_t InsertIfAbsent(uint64_t key, uint32_t frame);
  /// Removes `key` if it maps to `frame`.
  bool Remove(uint64_t key, uint32_t frame);

  /// Entries for which this table was made.
  [[nodiscard]] uint32_t capacity() const { return capacity_; }

 private:
  static constexpr size_t kInlineEntries = 4;

  /// Ends a chain. Zero, so that memory that was never written is an empty table.
  static constexpr uint32_t kNoNode = 0;

  struct alignas(64) Bucket {
    std::atomic<uint64_t> word;
    std::array<std::atomic<uint64_t>, kInlineEntries> keys;
    std::array<std::atomic<uint32_t>, kInlineEntries> frames;
    std::atomic<uint32_t> overflow;
  };
  static_assert(sizeof(Bucket) == 64);

  struct Node {
    std::atomic<uint64_t> key;
    std::atomic<uint32_t> frame;
    std::atomic<uint32_t> next;
  };
  static_assert(sizeof(Bucket) + sizeof(Node) == kBytesPerEntryMax);

  /// Holds the bucket's lock bit for a scope and increments the version at the end.
  class BucketLock;

  [[nodiscard]] size_t BucketIndex(uint64_t key) const {
    // Fibonacci hashing: neighbouring pages of a space go to distant buckets.
    return (key * 0x9E3779B97F4A7C15ull) >> shift_;
  }
  /// Between two tries of a reader or writer that found the bucket locked.
  static void Pause(unsigned spins);
  uint32_t LookupOverflow(const Bucket& bucket, uint64_t word, uint64_t key) const;
  /// REQUIRES: the bucket's lock.
  uint32_t FindLocked(const Bucket& bucket, uint64_t key) const;
  void PromoteOverflow(Bucket* bucket, size_t slot);
  uint32_t TakeNode();
  void GiveNode(uint32_t node);

  const uint32_t capacity_;
  const uint64_t bucket_count_;
  const unsigned shift_;
  HugeMemory bucket_memory_;
  HugeMemory node_memory_;
  Bucket* const buckets_;
  Node* const nodes_;  ///< the first is never used: its number ends chains
  Mutex free_nodes_mutex_{LatchRank::kPageTableNodes};
  uint32_t fresh_node_ ROWAN_GUARDED_BY(free_nodes_mutex_) = 1;           // never used from here on
  std::vector<uint32_t> free_nodes_ ROWAN_GUARDED_BY(free_nodes_mutex_);  // given back
};

}  // namespace rowan
