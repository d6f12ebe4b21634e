// SPDX-License-Identifier: GPL-2.0-only
// KeptRedo: what pages still lack of a redo log that is recycled before they could be read. A
// tablespace with a missing file or unreadable pages gets a file `space_<id>.redo` next to it with
// the log records of these pages, and with doublewrite images that could not be written home.
// docs/formats/kept_redo.md has the byte tables.
//
// Invariants:
//   1. a page with kept redo is brought up to date before it becomes visible (RedoBacklog lists
//      it), so it never gets log records beyond what is kept, except one that initialises it;
//   2. what is kept is durable before the log or the doublewrite file drops its own copy;
//   3. a file gets its name only once it is complete: until then it is a draft, which a start
//      removes, because the log is still there.
// Thread safety: Load, AddRecords, AddImage, Seal and Remove by one thread at a time, as Storage
// ensures; the rest from any.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/mutex.h"
#include "base/status.h"
#include "buffer/redo_portion.h"
#include "io/file.h"

namespace rowan {

class KeptRedo {
 public:
  KeptRedo(FileSystem* file_system, std::string folder, uint32_t page_size_bytes)
      : file_system_(file_system), folder_(std::move(folder)), page_size_bytes_(page_size_bytes) {}

  /// Finds the files of earlier runs; changes nothing. kNewerFormat; kIoError: one cannot be read.
  /// A damaged one is logged and listed in broken().
  Status Load();
  /// Removes the drafts of a run that died.
  void RemoveDrafts();
  /// Spaces that lack changes for good: what was kept of them is damaged.
  [[nodiscard]] const std::vector<SpaceId>& broken() const { return broken_; }

  /// Adds a page's records, oldest first, to those already kept. Durable after Seal.
  Status AddRecords(PageId page, const RedoPortion::Record* first);
  /// The image is used if the page is found torn, stale or never written. Add it before the page's
  /// records.
  Status AddImage(PageId page, Bytes image);
  Status Seal();
  /// All that was kept for the space is at home, or the space was dropped.
  Status Remove(SpaceId space);

  [[nodiscard]] bool empty() const { return page_count_.load(std::memory_order_acquire) == 0; }
  [[nodiscard]] bool Has(PageId page) const;
  [[nodiscard]] std::vector<uint64_t> Pages() const;  ///< PageId::Packed
  [[nodiscard]] std::vector<SpaceId> Spaces() const;
  /// Brings the page up to date as far as kept redo reaches; no effect if there is none.
  /// `readable`: `bytes` is the page as read, else anything. kCorrupt: the page, or what is kept,
  /// is damaged; then the bytes are useless.
  Status Apply(PageId page, MutableBytes bytes, bool readable) const;

  [[nodiscard]] std::string PathOf(SpaceId space) const;

 private:
  enum class Kind : uint32_t { kRecords = 1, kImage = 2 };  ///< numbers are on disk
  struct Block {
    Kind kind = Kind::kRecords;
    uint64_t offset = 0;  ///< of its body
    uint32_t bytes = 0;
    uint32_t checksum = 0;
  };
  struct Kept {
    std::shared_ptr<File> file;
    uint64_t end = 0;
    uint32_t blocks = 0;
    bool draft = false;
  };
  struct PageBlocks {
    std::shared_ptr<File> file;
    std::vector<Block> blocks;
  };

  [[nodiscard]] std::string PathOf(SpaceId space, std::string_view suffix) const;
  Status LoadFile(SpaceId space, const std::string& path);
  Status LoadBlocks(SpaceId space, Kept* kept, uint32_t blocks);
  /// The space's draft, which begins with what is already kept.
  Result<Kept*> DraftOf(SpaceId space);
  Status Add(PageId page, Kind kind, Bytes body);
  Status SealOne(SpaceId space, const Kept& kept);
  Status WriteHeader(SpaceId space, const Kept& kept) const;
  [[nodiscard]] PageBlocks BlocksOf(PageId page) const;
  static Status ApplyRecords(PageId page, Bytes body, MutableBytes bytes, bool* readable);

  FileSystem* const file_system_;
  const std::string folder_;
  const uint32_t page_size_bytes_;
  std::vector<SpaceId> broken_;  ///< by Load
  std::atomic<size_t> page_count_{0};
  mutable SharedMutex mutex_{LatchRank::kKeptRedo};
  std::map<SpaceId, Kept> spaces_ ROWAN_GUARDED_BY(mutex_);
  std::unordered_map<uint64_t, std::vector<Block>> pages_ ROWAN_GUARDED_BY(mutex_);
};

}  // namespace rowan
