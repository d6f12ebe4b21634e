// SPDX-License-Identifier: GPL-2.0-only
// PageLsns: for each page, the LSN of the image last written home. A page read with a smaller one
// is stale: intact, with the right identity, but a write that the device acknowledged never reached
// it. On disk a base (page_lsn_base.h) and journals (page_lsn_journal.h), to which each checkpoint
// appends what is new; Fold makes a new base from both. In memory, within a bound, some chunks of
// the pages read or written since the start (page_lsn_chunks.h). docs/formats/page_lsns.md has the
// details.
//
// Invariants:
//   1. what is in the files is durable at home: a checkpoint copies what changed, syncs the data
//      files, writes the copies. A page newer than the files say is valid, so a crash raises no
//      alarm;
//   2. a checkpoint's control file is written after the copies, and the copies are made after its
//      LSN is known: no page that is valid only with changes below the checkpoint is missed;
//   3. a page's LSN only grows, so of several values the largest counts, in whatever order they are
//      found. Losing one may hide a stale page, but never raises a false alarm;
//   4. space ids are never reused, so neither map nor files confuse the pages of two spaces.
// It only detects: where it knows nothing (0), pages are trusted.
// Thread safety: all members from any thread, but Open first. Copy and Write of one checkpoint at a
// time, Fold by one thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/function_ref.h"
#include "base/ids.h"
#include "base/mutex.h"
#include "base/status.h"
#include "buffer/page/page_lsn_base.h"
#include "buffer/page/page_lsn_chunks.h"
#include "buffer/page/page_lsn_journal.h"
#include "io/file.h"
#include "io/space_files.h"

namespace rowan {

class PageLsns {
 public:
  PageLsns(FileSystem* file_system, SpaceFiles* files);

  struct Origin {
    uint32_t instance = 0;  ///< distinguishes the files of two instances
    bool expected = false;  ///< the instance is not new: a missing file is worth a warning
  };
  /// Gives the files their current names, reads the base's directory and the journals, or creates
  /// an empty base. kNewerFormat (logged).
  Status Open(const Origin& origin);

  /// An image with this LSN is at home. After SyncTracker::NoteWrite and before the frame becomes
  /// clean, so that the checkpoint that relies on the write finds both.
  void Note(PageId id, Lsn lsn);
  /// kNoLsn: nothing is known. Reads the page's chunk from the base on first use.
  [[nodiscard]] Lsn Expected(PageId id) const;
  /// True if an image with this LSN must not be trusted.
  [[nodiscard]] bool IsStale(PageId id, Lsn lsn) const;
  /// The space was dropped. REQUIRES: it is no longer live.
  void Forget(SpaceId space);

  /// Until EndRedo a page not older than `from`, where redo begins, is not stale: the log has all
  /// that it lacks.
  void BeginRedo(Lsn from) { redo_from_.store(from, std::memory_order_relaxed); }
  void EndRedo() { redo_from_.store(Lsn(UINT64_MAX), std::memory_order_relaxed); }

  /// The pages noted since the last call, with their LSNs. Before the sync of the data files.
  using Copies = std::vector<PageLsnEntry>;
  Copies CopyChanged();
  /// Makes the copies durable; after that sync. Skips those of spaces that are no longer live.
  /// Without copies it does nothing. A full disk is no failure: they are retried with the next.
  Status Write(Copies copies);

  /// Whether the journals have grown enough that a new base costs little compared with the pages
  /// written.
  [[nodiscard]] bool WantsFold() const;
  /// Makes a new base from base and journals, in the background. A failure changes nothing and is
  /// logged; Fold is retried when the journals have grown further.
  Status Fold(FunctionRef<bool()> interrupted);

  /// Reads the base's blocks of the space; damaged ones are logged, and the next checkpoint appends
  /// what memory has of them to the journal. Returns how many there were.
  Result<uint32_t> Check(SpaceId space);
  [[nodiscard]] uint64_t MemoryBytes() const;
  struct MemoryMax {
    uint64_t chunk_bytes = UINT64_MAX;
    /// Limit of what a start reads from journals, and of what waits for a fold: reaching it starts
    /// a fold; while that fails they grow further.
    uint64_t journal_bytes = UINT64_MAX;
  };
  void SetMemoryMax(const MemoryMax& most);

 private:
  /// The contents of the files when last read; replaced as a whole.
  struct OnDisk {
    std::unique_ptr<PageLsnBase> base;
    std::vector<PageLsnEntry> recent;  ///< from journals found by Open, by page, each once
  };

  void MarkChanged(ChunkKey key, PageLsnChunk* chunk, uint32_t page);
  void ListChanged(ChunkKey key);
  static void CopyChunk(ChunkKey key, PageLsnChunk* chunk, Copies* copies);
  [[nodiscard]] Lsn LoadAndLook(PageId id) const;
  /// False if another base is in place by then.
  bool TryLoad(PageId id, const std::shared_ptr<const OnDisk>& on_disk, Lsn* lsn) const;
  static void Merge(PageLsnChunk* chunk, ChunkKey key, const OnDisk& on_disk);

  // page_lsns_rename.cc
  Status TakeFormerNames();
  Status TakeFormerName(const std::string& name);

  // page_lsns_file.cc
  Status OpenBase(const std::string& path);
  Status MakeEmptyBase();
  Status ReadJournals(const std::vector<uint64_t>& numbers, std::vector<PageLsnEntry>* versions);
  Result<std::vector<uint64_t>> ListJournals() const;
  Status RemoveJournals(const std::vector<uint64_t>& numbers);
  Status DropDeadSpaces(std::vector<PageLsnEntry>* versions) const;
  [[nodiscard]] std::string JournalPath(uint64_t number) const;
  [[nodiscard]] std::string BasePath() const;
  Status AppendLocked(const Copies& copies) ROWAN_REQUIRES(file_mutex_);
  /// The copies are now in this journal.
  void NoteAppended(const Copies& copies, uint64_t journal) const;
  /// They are in no journal.
  void PutBack(const Copies& copies);
  Status FoldInto(const std::string& path, FunctionRef<bool()> interrupted,
                  const std::vector<PageLsnEntry>& versions);
  Status Install(const std::string& path);

  FileSystem* const file_system_;
  SpaceFiles* const files_;
  Origin origin_;
  std::atomic<Lsn> redo_from_{Lsn(UINT64_MAX)};

  /// Shared: finding a chunk and using its LSNs. Exclusive: adding and removing chunks, and
  /// replacing on_disk_. The chunks are a cache, so readers add to them.
  mutable SharedMutex mutex_{LatchRank::kPageLsns};
  mutable PageLsnChunks chunks_ ROWAN_GUARDED_BY(mutex_);
  std::shared_ptr<const OnDisk> on_disk_ ROWAN_GUARDED_BY(mutex_);

  Mutex changed_mutex_{LatchRank::kChangedPageLsns};
  std::vector<ChunkKey> changed_ ROWAN_GUARDED_BY(changed_mutex_);

  Mutex file_mutex_{LatchRank::kPageLsnJournal};
  /// Null until something is appended.
  std::unique_ptr<PageLsnJournal> journal_ ROWAN_GUARDED_BY(file_mutex_);
  uint64_t next_journal_ ROWAN_GUARDED_BY(file_mutex_) = 1;
  bool full_logged_ ROWAN_GUARDED_BY(file_mutex_) = false;

  std::atomic<uint64_t> journal_entries_{0};  // in all journals
  std::atomic<uint64_t> journal_files_{0};
  std::atomic<uint64_t> base_slots_{0};
  std::atomic<uint64_t> recent_chunks_{0};  // an upper bound of those in OnDisk::recent
  std::atomic<uint64_t> journal_bytes_max_{UINT64_MAX};
  std::atomic<uint64_t> fold_not_before_{0};  // in journal entries, after a failure
  std::atomic<bool> rewrite_{false};          // the base has the older form, or is damaged
};

}  // namespace rowan
