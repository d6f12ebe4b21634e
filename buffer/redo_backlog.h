// SPDX-License-Identifier: GPL-2.0-only
// RedoBacklog: what pages still lack of the redo log, as a list per page of the groups that change
// it. One pass over the log fills it; a reader of a page into the pool applies its list first
// (PageFiles::backlog). Lists only say where in the log the groups are, in a few bytes each, so
// those of a long log fit in little memory; the records are read from the log when they are
// applied: for many pages together (RedoPortion), or for one.
// Redo of a page reads no other page, so pages are brought up to date independently, in any order
// and by any number of threads.
//
// Invariants:
//   - a list is in log order and reaches from the page's first record in the gathered stretch of
//     the log to its last. A record that initialises the page supersedes everything before it;
//   - a page in the pool has no list: it was applied when the page was loaded. So a list is used
//     exclusively: its thread holds the latch of the frame into which the page is loaded;
//   - a page with a list counts as dirty since the first record, whether or not it lacks any: see
//     storage/recovery.h;
//   - no checkpoint is published before all lists are applied or saved, so the log keeps what they
//     name.
// A list: chunks of varints, each the distance of a group's start from the one before, the first
// from `start`.
// Thread safety: Add, Finish, SetLog and Clear by one thread while no other uses it; after Finish
// the rest from any thread, Apply and Remove of a page by the holder of its frame.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/status.h"
#include "buffer/kept_redo.h"
#include "buffer/redo_portion.h"
#include "wal/group.h"
#include "wal/log_groups.h"

namespace rowan {

class RedoBacklog {
 public:
  struct Page {
    uint64_t key = 0;  ///< PageId::Packed; 0: the slot is free
    Lsn start;         ///< of the first group that mentions the page
    Lsn newest;        ///< start of the last group in the list
    /// First chunk of the list; 0 once the list is applied or not needed; kKeptOnly.
    std::atomic<uint32_t> list{0};
    uint32_t tail = 0;               ///< last chunk
    uint32_t record_bytes = 0;       ///< bytes RedoPortion needs for the list; UINT32_MAX: or more
    uint32_t newest_bytes : 31 = 0;  ///< of the last group
    uint32_t fresh : 1 = 0;          ///< the first record initialises the page, which is not read

    /// What the page lacks is kept (buffer/kept_redo.h), and nothing of it is in the log.
    static constexpr uint32_t kKeptOnly = UINT32_MAX;
    [[nodiscard]] bool kept_only() const {
      return list.load(std::memory_order_acquire) == kKeptOnly;
    }
    [[nodiscard]] bool pending() const { return list.load(std::memory_order_acquire) != 0; }
  };

  RedoBacklog();
  ~RedoBacklog();

  // --- gathering ---
  /// REQUIRES: FindRedo knows the record's type and version, and it names a page.
  void Add(const RecordView& record, Lsn group_start, Lsn group_end);
  void Finish();
  /// These pages first lack what `kept`, which outlives this, has of them. After Finish.
  void AddKept(const KeptRedo* kept, std::span<const uint64_t> pages);
  void Clear();
  /// Memory of the lists and their directory.
  [[nodiscard]] uint64_t MemoryBytes() const;

  // --- redoing ---
  /// Where the groups are; outlives all use below.
  void SetLog(const LogGroups* log) { log_ = log; }
  /// From now on the log is not read: pages with kept redo stay listed for that, all others count
  /// as up to date. False: none is listed. REQUIRES: no thread uses lists.
  bool EndLog();
  /// The pages with lists, in their order on disk.
  [[nodiscard]] std::vector<uint64_t> PendingPages() const;
  /// nullptr when nothing of the page is pending.
  [[nodiscard]] Page* Find(uint64_t key) const;
  /// End of the newest group that has a record in the list.
  [[nodiscard]] static Lsn EndOf(const Page& page) { return page.newest + page.newest_bytes; }
  /// Gathers the records of `keys`, which are sorted. Omits what exceeds `bytes_max`: Apply reads
  /// that itself. Null after EndLog. kStopped: the log cannot be read (logged).
  Result<std::unique_ptr<RedoPortion>> Gather(std::span<const uint64_t> keys,
                                              uint64_t bytes_max) const;
  /// Applies what the page lacks of the list by its LSN, and stamps its LSN: the page as it was
  /// read, or zero bytes if `page.fresh`. What is kept comes first (ApplyKept). After a failure the
  /// bytes are useless: part of a group may have been applied. kStopped: the log cannot be read
  /// (logged), which says nothing about the page. `portion`: may have the page's records; null:
  /// read from the log.
  Status Apply(const Page& page, MutableBytes bytes, const RedoPortion* portion = nullptr);
  /// Brings the page up to where its list begins, if it has kept redo: see KeptRedo::Apply.
  Status ApplyKept(PageId id, MutableBytes bytes, bool readable) const;
  [[nodiscard]] bool HasKept(PageId id) const { return kept_ != nullptr && kept_->Has(id); }
  void Remove(Page* page) { page->list.store(0, std::memory_order_release); }
  [[nodiscard]] uint64_t records_applied() const {
    return records_applied_.load(std::memory_order_relaxed);
  }

 private:
  /// A record whose page is not looked up yet: its slot is being prefetched.
  struct Arrival {
    uint64_t key = 0;
    Lsn start;
    uint32_t group_bytes = 0;
    uint32_t record_bytes = 0;
    bool fresh = false;
  };
  static constexpr size_t kArrivals = 16;
  struct Chunk;
  class ListCursor;

  void Link(const Arrival& arrival);
  void Append(Page* page, uint64_t distance);
  uint32_t AddChunk(uint32_t bytes);
  [[nodiscard]] Chunk* ChunkAt(uint32_t place) const;
  void Enlarge();
  void AddKeptPage(uint64_t key);
  [[nodiscard]] size_t FirstSlotOf(uint64_t key) const;
  [[nodiscard]] size_t SlotOf(uint64_t key) const;
  void PrefetchTail(uint64_t key) const;
  Status ApplyRecords(PageId id, const RedoPortion::Record* first, MutableBytes bytes);

  const LogGroups* log_ = nullptr;
  const KeptRedo* kept_ = nullptr;
  std::unique_ptr<Page[]> pages_;  ///< hash table, linear probing, at most three quarters full
  size_t capacity_ = 0;            ///< a power of two
  size_t used_ = 0;
  std::vector<std::unique_ptr<uint64_t[]>> blocks_;  ///< of chunks
  uint32_t chunk_next_ = 0;                          ///< in units of eight bytes through all blocks
  std::array<Arrival, kArrivals> arrivals_;
  size_t next_arrival_ = 0;
  std::atomic<uint64_t> records_applied_{0};
};

}  // namespace rowan
