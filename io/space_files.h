// SPDX-License-Identifier: GPL-2.0-only
// SpaceFiles: space id -> open file, and the only place outside space/ that turns a page number
// into a file offset (page number x page size). Files are named by id, `space_<id>.rws`, in the
// instance folder, including those of the system and undo spaces. The files of temporary spaces are
// named differently and never synced; Drop unlinks them at once.
//
// A space is live from Create/Open until Drop. Drop marks it dead at once (reads and writes of a
// dead space return kNotFound, which the cleaner does not treat as an error), renames the file to a
// trash name and leaves the unlinking to RemoveTrash. io/space_handles.h limits how many handles
// stay open. Thread safety: all members, from any thread; reads of open files take no exclusive
// lock.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/mutex.h"
#include "base/status.h"
#include "io/file.h"
#include "io/space_handles.h"

namespace rowan {

/// The id in a name that SpaceFileName (io/space_handles.h) gives; nullopt for others.
[[nodiscard]] std::optional<SpaceId> ParseSpaceFileName(std::string_view name);

struct SpaceFilesOptions {
  bool direct = true;  ///< O_DIRECT for data files, silently off where the file system refuses
  uint32_t open_files_max = 0;      ///< handles; 0: half of the descriptors the process may have
  uint32_t pages_max = UINT32_MAX;  ///< of one file
};

/// The id in `space_<id><suffix>`, or nullopt if the name is not exactly of that form.
std::optional<SpaceId> ParseSpaceName(std::string_view name, std::string_view suffix);

class SpaceFiles {
 public:
  SpaceFiles(FileSystem* file_system, std::string folder, uint32_t page_size_bytes,
             const SpaceFilesOptions& options = {});

  /// Creates the file with `pages` zeroed pages, syncs it and its folder. Fails if it exists.
  /// `place`: the path where it is to lie instead, see io/placed_file.h; kUnsupported if page
  /// writes must be untorn and that place does not promise it.
  Status Create(SpaceId space, uint32_t pages, const std::string& place = {});
  /// Makes an existing file live. kNotFound when the file is missing; IsPlaceMissing for one that
  /// lies elsewhere.
  Status Open(SpaceId space);
  [[nodiscard]] bool IsLive(SpaceId space) const { return handles_.IsLive(space); }
  /// All space ids that have a file in the folder (live or not yet opened).
  Result<std::vector<SpaceId>> ListFiles();
  /// Dead at once; the file is renamed to a trash name and the folder synced. kNotFound when there
  /// is neither a live space nor a file.
  Status Drop(SpaceId space);
  /// Dead at once, like Drop; the file is kept and durably has the name `path`. kNotFound as there.
  Status SetAside(SpaceId space, const std::string& path);
  /// For a space that is not live: removes a link whose file was never created. The link stays if
  /// its disk may merely be unmounted. kNotFound when there is none.
  Status RemoveDeadLink(SpaceId space);
  /// Unlinks some trash files; true when none is left for now. One that cannot be removed is logged
  /// and does not hold up the others: it is retried after a pause, counted in calls that have
  /// nothing else to do and longer each time. Called by a background thread and at startup.
  Result<bool> RemoveTrash();
  /// Unlinks the files of temporary spaces that an earlier run left. Call before the first one is
  /// created.
  Status RemoveTemporary();

  /// A page beyond the end of the file is kIoError with detail 0 and not logged.
  Status ReadPage(PageId id, MutableBytes buffer);
  Status WritePage(PageId id, Bytes page);
  /// File and offset for a batch of reads or writes. The handle keeps the file open while held;
  /// one taken to write keeps it open until a sync.
  using Use = SpaceHandles::Use;
  struct Location {
    std::shared_ptr<File> file;
    uint64_t offset = 0;
  };
  Result<Location> Locate(PageId id, Use use);

  /// Pages in the file now.
  Result<uint32_t> PageCount(SpaceId space);
  /// Grows the file to at least `pages` pages; the new ones are allocated on disk and read as zero.
  /// kNoSpace beyond pages_max.
  Status Extend(SpaceId space, uint32_t pages);
  /// Gives the blocks of unused pages back to the file system: they read as zero. kUnsupported
  /// where the file system cannot.
  Status Punch(PageId first, uint32_t pages);
  /// Allocates blocks for punched pages again, before they are used. kNoSpace when the disk is
  /// full.
  Status Refill(PageId first, uint32_t pages);
  /// From now on page writes to all files are untorn or not. Initially they are not.
  void SetAtomic(bool atomic) { handles_.SetAtomic(atomic); }
  /// Makes all earlier writes to one space durable; Ok for a dead one.
  Status Sync(SpaceId space, SyncMethod method) { return handles_.Sync(space, method); }

  /// File handles open in the cache now.
  [[nodiscard]] uint32_t OpenHandles() const { return handles_.open_count(); }
  /// Above this number, handles that are not in use are closed.
  [[nodiscard]] uint32_t OpenHandlesMax() const { return handles_.open_max(); }
  [[nodiscard]] uint32_t page_size_bytes() const { return page_size_bytes_; }
  [[nodiscard]] uint32_t pages_max() const { return options_.pages_max; }
  [[nodiscard]] const std::string& folder() const { return folder_; }
  [[nodiscard]] std::string PathOf(SpaceId space) const { return InFolder(SpaceFileName(space)); }
  /// Where the file that PathOf names lies: elsewhere, if it was created with a place.
  [[nodiscard]] std::string PlaceOf(SpaceId space) const;

 private:
  [[nodiscard]] std::string InFolder(const std::string& name) const { return folder_ + "/" + name; }
  /// No caller gets the file from now on; it is renamed.
  Status Detach(SpaceId space, const std::string& target);
  Status FillNewFile(const std::string& path, uint64_t size_bytes, bool durable);
  /// What Create does, except for the link of a file that lies elsewhere.
  Status CreateFile(SpaceId space, uint32_t pages, const std::string& path);
  /// kUnsupported where the file system of `path` does not promise what pages need.
  Status CheckUntorn(const std::string& path) const;
  Status ListTrash() ROWAN_REQUIRES(trash_mutex_);
  void KeepTrash(const std::string& name) ROWAN_REQUIRES(trash_mutex_);
  /// False: only a part of it is gone.
  Result<bool> RemoveTrashFile(const std::string& path);

  FileSystem* const file_system_;
  const std::string folder_;
  const uint32_t page_size_bytes_;
  const SpaceFilesOptions options_;
  SpaceHandles handles_;
  Mutex trash_mutex_{LatchRank::kTrash};
  bool trash_scanned_ ROWAN_GUARDED_BY(trash_mutex_) = false;
  std::vector<std::string> trash_ ROWAN_GUARDED_BY(trash_mutex_);       // file names
  std::vector<std::string> trash_kept_ ROWAN_GUARDED_BY(trash_mutex_);  // could not be removed
  static constexpr uint32_t kTrashPauseCallsMin = 64;
  uint32_t trash_pause_calls_ ROWAN_GUARDED_BY(trash_mutex_) = kTrashPauseCallsMin;
  uint32_t trash_calls_left_ ROWAN_GUARDED_BY(trash_mutex_) = 0;  // of the pause, if any is kept
};

}  // namespace rowan
