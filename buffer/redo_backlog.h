// SPDX-License-Identifier: GPL-2.0-only
// RedoBacklog: what pages still lack of the redo log, as a list of records per page. One pass over
// the log fills it; whoever brings a page into the pool applies its list first (PoolCore::backlog).
// Every record concerns one page, so pages are brought up to date independently of each other, in
// any order and by any number of threads.
//
// Invariants:
//   - a list is in log order and reaches from the page's first record in the stretch of the log
//     gathered to its last. A record that initialises the page makes all before it superfluous;
//   - a page in the pool has no list: it was applied when the page came in. Exclusive use of a list
//     follows from that: its thread holds the latch of the frame that the page is coming into;
//   - a page with a list counts as dirty since the first record, whether it lacks any or not: see
//     engine/recovery.h.
// Thread safety: Add, Finish and Clear by one thread while nobody else uses it; after Finish the
// rest from any thread, Apply and Remove of a page by the holder of its frame.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/status.h"
#include "wal/group.h"

namespace rowan {

class RedoBacklog {
 public:
  struct Record;
  struct Page {
    uint64_t key = 0;    ///< PageId::Packed; 0: the slot is free
    uint64_t start = 0;  ///< of the first group that mentions the page
    std::atomic<Record*> newest{nullptr};  ///< null once the list is applied or not needed any more
    bool fresh = false;  ///< the first record initialises the page: nothing need be read

    [[nodiscard]] bool pending() const { return newest.load(std::memory_order_acquire) != nullptr; }
  };

  RedoBacklog();
  ~RedoBacklog();

  // --- gathering ---
  /// Copies the record of a group. REQUIRES: FindRedo knows its type and version, and it names a
  /// page.
  void Add(const RecordView& record, Lsn group_start, Lsn group_end);
  void Finish();
  void Clear();
  /// Of records and their directory.
  [[nodiscard]] uint64_t MemoryBytes() const { return record_bytes_ + capacity_ * sizeof(Page); }

  // --- redoing ---
  /// The pages with lists, in the order in which they lie on disk.
  [[nodiscard]] std::vector<uint64_t> PendingPages() const;
  /// nullptr when nothing of the page is pending.
  [[nodiscard]] Page* Find(uint64_t key) const;
  /// Of the newest group that has a record in the list.
  [[nodiscard]] static Lsn EndOf(const Page& page);
  /// Applies what the page lacks of the list by its LSN, and stamps its LSN: the page as it was
  /// read, or zero bytes if `page.fresh`. After a failure the bytes are of no use: part of a group
  /// may have been applied.
  Status Apply(const Page& page, MutableBytes bytes);
  void Remove(Page* page) { page->newest.store(nullptr, std::memory_order_release); }
  [[nodiscard]] uint64_t records_applied() const {
    return records_applied_.load(std::memory_order_relaxed);
  }

 private:
  /// Records whose page is not looked up yet: its slot is on the way into the cache meanwhile.
  struct Arrival {
    Record* record = nullptr;
    uint64_t key = 0;
    uint64_t start = 0;
    bool fresh = false;
  };
  static constexpr size_t kArrivals = 16;

  Record* Copy(const RecordView& record, Lsn group_end);
  void Link(const Arrival& arrival);
  void Enlarge();
  [[nodiscard]] size_t SlotOf(uint64_t key) const;

  std::unique_ptr<Page[]> pages_;  ///< hash table, linear probing, at most half full
  size_t capacity_ = 0;            ///< a power of two
  size_t used_ = 0;
  std::vector<std::unique_ptr<std::byte[]>> blocks_;
  size_t block_used_ = 0;  ///< of the last block
  uint64_t record_bytes_ = 0;
  std::array<Arrival, kArrivals> arrivals_;
  size_t next_arrival_ = 0;
  std::atomic<uint64_t> records_applied_{0};
};

}  // namespace rowan
