// SPDX-License-Identifier: GPL-2.0-only
// PageVersions: for each page, the LSN of the image last written home. A page that is read with a
// smaller one is stale: whole, with the right identity, but a write that the device acknowledged
// never reached it. Kept in memory, and in the file `rowan.versions`, which each checkpoint brings
// up to date. docs/formats/page_versions.md has the byte table.
//
// Invariants:
//   1. what is in the file is durable at home: a checkpoint copies the map, syncs the data files,
//      writes the copies. A page newer than the file says is right, so a crash raises no alarm;
//   2. a checkpoint's control file is written after the copies, and the copies are made after its
//      LSN is known: no page that is right only with changes below the checkpoint is overlooked;
//   3. of the two slots of a chunk, one is durable at any time: a torn or rotten one costs at most
//      what the last checkpoint knew more than the one before;
//   4. space ids are never used again, so neither map nor file mixes up the pages of two spaces.
// It only detects: where it knows nothing (0), pages are believed as they always were.
// Thread safety: all members from any thread, but Open before all others. Copy and Write of one
// checkpoint at a time.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/status.h"
#include "io/file.h"
#include "io/space_files.h"

namespace rowan {

inline constexpr char kVersionsFileName[] = "rowan.versions";
/// A slot: header and one LSN per page. A chunk is what one slot holds.
inline constexpr size_t kVersionsSlotBytes = 4096;
inline constexpr size_t kVersionsHeaderBytes = 32;
inline constexpr uint32_t kPagesPerChunk = (kVersionsSlotBytes - kVersionsHeaderBytes) / 8;

class PageVersions {
 public:
  PageVersions(FileSystem* file_system, SpaceFiles* files);

  struct Origin {
    uint32_t instance = 0;   ///< tells the files of two instances apart
    bool expected = false;   ///< the instance is not new: a missing file is worth a warning
  };
  /// Reads the file, or makes an empty one. kNewerFormat (logged).
  Status Open(const Origin& origin);

  /// An image with this LSN is at home. After SyncTracker::NoteWrite and before the frame becomes
  /// clean, so that the checkpoint that relies on the write finds both.
  void Note(PageId id, Lsn lsn);
  /// kNoLsn: nothing is known.
  [[nodiscard]] Lsn Expected(PageId id) const;
  /// True if an image with this LSN must not be believed.
  [[nodiscard]] bool IsStale(PageId id, Lsn lsn) const;
  /// The space was dropped. REQUIRES: it is not live any more.
  void Forget(SpaceId space);

  /// Until EndRedo a page not older than `from`, where redo begins, is no stale page: the log has
  /// all that it lacks.
  void BeginRedo(Lsn from) { redo_from_.store(from.value(), std::memory_order_relaxed); }
  void EndRedo() { redo_from_.store(UINT64_MAX, std::memory_order_relaxed); }

  /// Chunks as they were at one moment, ready for the file.
  struct Copies {
    std::vector<uint64_t> chunks;   ///< KeyOf
    std::vector<std::byte> slots;   ///< in the same order
  };
  /// The chunks changed since the last call. Before the sync of the data files.
  Copies CopyChanged();
  /// Makes the copies durable; after that sync. Without copies it does nothing. A full disk is no
  /// failure if all that is missing is room for chunks not yet in the file: they stay changed.
  Status Write(Copies copies);

  /// Reads the space's slots in use; damaged ones are logged and written anew by the next
  /// checkpoint. Returns how many there were.
  Result<uint32_t> Check(SpaceId space);
  [[nodiscard]] uint64_t MemoryBytes() const;

 private:
  struct Chunk {
    std::array<std::atomic<uint64_t>, kPagesPerChunk> lsns{};
    bool changed = false;  // guarded by changed_mutex_
  };
  using Chunks = std::vector<std::unique_ptr<Chunk>>;  ///< by number; null: nothing known
  /// Where a chunk is in the file.
  struct Place {
    uint32_t pair = 0;
    uint32_t slot = 0;  ///< 0 or 1: holds the durable state; the other is written next
    uint64_t generation = 0;
  };
  struct Loading;

  /// A chunk's space and number in one.
  static uint64_t KeyOf(SpaceId space, uint32_t number) {
    return (uint64_t{space.value()} << 32) | number;
  }
  static SpaceId SpaceOf(uint64_t key) { return SpaceId(static_cast<uint32_t>(key >> 32)); }
  static uint32_t NumberOf(uint64_t key) { return static_cast<uint32_t>(key); }

  [[nodiscard]] Chunk* Find(SpaceId space, uint32_t number) const;
  Chunk* FindOrCreate(SpaceId space, uint32_t number);
  void MarkChanged(uint64_t key, Chunk* chunk);
  Status Load();
  /// Makes what the last checkpoint of an earlier process wrote durable.
  Status RewriteNewest();
  Status LoadPair(Bytes slots, uint32_t pair, Loading* loading);
  void Adopt(uint64_t key, Bytes slot, const Place& place);
  void LogLoaded(const Loading& loading) const;
  /// Where the chunk is, with a pair of slots found for it if it has none. kNoSpace.
  Result<Place*> PlaceOf(uint64_t key);
  Status WriteSlot(uint64_t key, std::byte* slot);

  FileSystem* const file_system_;
  SpaceFiles* const files_;
  Origin origin_;
  std::atomic<uint64_t> redo_from_{UINT64_MAX};
  std::atomic<uint64_t> chunk_count_{0};

  /// Shared: finding a chunk and using its LSNs. Exclusive: adding and removing chunks.
  mutable std::shared_mutex mutex_;
  std::unordered_map<SpaceId, Chunks> spaces_;  // guarded by mutex_

  std::mutex changed_mutex_;  // after mutex_
  std::vector<uint64_t> changed_;  // guarded by changed_mutex_

  std::mutex file_mutex_;  // before mutex_; guards all below
  std::unique_ptr<File> file_;
  std::map<uint64_t, Place> places_;  ///< by KeyOf
  std::vector<uint32_t> free_pairs_;
  uint32_t pairs_ = 0;  ///< in the file
  uint64_t last_generation_ = 0;
  bool full_logged_ = false;
};

}  // namespace rowan
