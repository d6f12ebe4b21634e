// SPDX-License-Identifier: GPL-2.0-only
// DoublewriteFile: page images go here, synced, before they go home, so that a home write torn by a
// power failure can be repaired. docs/formats/doublewrite.md has the byte tables.
//
// The file `rowan.doublewrite` is an array of fixed-size segments; a segment is a 4 KiB directory
// page and page images, packed one after another without their holes (page_hole.h). A page writer
// owns a few segments and uses them in turn.
//
// Invariants:
//   1. a segment is overwritten only when the pages listed in it are durable at home (it is then
//      "settled"), so after a crash the file has the image of any page that may be torn at home;
//   2. the directory carries the largest sequence number up to which all segments are settled:
//      repair ignores those, so an old image never replaces a page damaged by something else. Older
//      batches, also of other writers, are settled with a segment before it is overwritten: else an
//      older image of a page would become the newest in the file;
//   3. images are written only when the log is durable up to their page LSNs: one from beyond the
//      log's end proves that the log lost its end.
// A batch may be listed without its images (detect_only): then repair names the torn pages and
// leaves them to redo, which refuses what it cannot rebuild.
// Thread safety: StartSegment of different segments concurrently; Repair before anything else.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/mutex.h"
#include "base/status.h"
#include "buffer/page/page_lsns.h"
#include "buffer/page/sync_tracker.h"
#include "io/aligned_buffer.h"
#include "io/file.h"
#include "io/space_files.h"
#include "io/write_batch.h"

namespace rowan {

inline constexpr char kDoublewriteFileName[] = "rowan.doublewrite";
inline constexpr size_t kDirectoryBytes = 4096;
/// Pages in one segment: 2 MiB of images, at least 32 pages (a sync costs the same for 32 as for
/// one), at most 128 (larger batches gain little and delay the frames in them).
inline constexpr uint32_t SegmentPages(uint32_t page_size_bytes) {
  const uint32_t pages = (uint32_t{2} << 20) / page_size_bytes;
  return pages < 32 ? 32 : (pages > 128 ? 128 : pages);
}

/// Most writes that a segment is sent in.
inline constexpr uint32_t kSegmentPieces = 2;

class DoublewriteFile {
 public:
  DoublewriteFile(FileSystem* file_system, SpaceFiles* files, SyncTracker* syncs,
                  PageLsns* versions)
      : file_system_(file_system), files_(files), syncs_(syncs), versions_(versions) {}

  /// Before anything of an instance is changed: kCorrupt if a page in the file is from beyond
  /// `log_end`, kNewerFormat. Reads only; the object needs no Open, syncs or versions for it.
  Status Check(Lsn log_end);
  /// Opens or creates the file with at least `segments` segments; contents stay.
  Status Open(uint32_t segments);
  /// Repairs torn and stale home pages from unsettled segments, makes that durable, then empties
  /// the file. Intact pages are rewritten: if a sync of an earlier process failed, the kernel
  /// treats as clean what never reached the disk. Pages torn or stale without an image are named in
  /// the log and left. kCorrupt if a page is from beyond `log_end`. A table's page that cannot be
  /// read is skipped if `absent` allows, its image kept durably; otherwise it is a failure
  /// (logged), which leaves the images as they are.
  struct Absent {
    std::function<Status(PageId page, Bytes image)> keep;
    std::function<Status()> end;                      ///< makes what was kept durable
    std::function<bool(SpaceId)> has_changes_in_log;  ///< empty: none has
    bool unreadable = false;  ///< also for existing but unreadable files, not only for missing ones
  };
  Status Repair(Lsn log_end, const Absent& absent);
  Status Repair(Lsn log_end) { return Repair(log_end, Absent()); }
  /// Makes everything at home durable and empties the file. No write may be under way.
  Status Reset();

  enum class Contents : uint32_t {  ///< numbers are on disk
    kImages = 0,
    kChecksums = 1,  ///< detect_only: the directory alone
  };
  /// Makes the pages listed in `segment` and in older batches durable at home, so that it may be
  /// overwritten. Cheap if they already are; else it syncs files, best while few writes to them are
  /// under way. kStopped if its batch failed.
  Status Settle(uint32_t segment);
  /// What a batch consists of; `images` are sealed, in the order of `pages`.
  struct Batch {
    const std::vector<PageId>& pages;
    Contents contents = Contents::kImages;
    const std::byte* images = nullptr;
  };
  /// Room that StartSegment needs for a batch of `pages` images.
  static size_t PackedBytesMax(size_t pages, uint32_t page_size_bytes) {
    return kDirectoryBytes + pages * page_size_bytes;
  }
  /// Settles the previous content of `segment`, assembles the data to write in `packed` and sends
  /// it through `writes`. It is durable when writes->WaitAll returns Ok, which must be called even
  /// if this fails; `packed` stays untouched until then.
  Status StartSegment(uint32_t segment, const Batch& batch, MutableBytes packed,
                      WriteBatch* writes);
  /// The batch last written to `segment` is home but not synced; `touched` are its tickets.
  using Touched = std::pair<SpaceId, SyncTracker::Ticket>;
  void NoteHome(uint32_t segment, std::vector<Touched> touched);

 private:
  struct Segment {
    uint64_t sequence = 0;  ///< of the batch in it; 0 = settled
    bool home = false;      ///< its pages are home, perhaps not synced
    std::vector<Touched> touched{};
  };
  struct Image;
  struct PlacedDirectory;

  [[nodiscard]] uint64_t StrideBytes() const;
  Status ReadDirectories(std::vector<PlacedDirectory>* directories);
  Status CollectImages(const std::vector<PlacedDirectory>& directories, Lsn log_end,
                       std::vector<Image>* images);
  enum class Home { kWhole, kTorn, kUnwritten, kStale, kDropped, kUnreachable };
  /// What Repair found, for one message.
  struct Findings {
    uint64_t torn = 0;
    uint64_t unwritten = 0;
    uint64_t stale = 0;
    PageId first;
  };
  /// `page` gets the home page. Torn: it fails its checksum. Unwritten: it is zero or lies beyond
  /// the end of its file, e.g. after a crash between the two writes of a batch.
  /// Stale: older than its last write, and redo lacks its missing changes.
  /// Unreachable: the file of a table is missing, or cannot be opened or read there.
  Result<Home> LookAtHome(PageId id, MutableBytes page);
  /// Describes a torn, unwritten or stale page.
  static const char* Describe(Home home);
  Status WriteHome(PageId id, Bytes page);
  Status ReadImage(const Image& image, MutableBytes page);
  Status RepairPage(const Image& image, Findings* findings);
  Status RewriteListed(const std::vector<PlacedDirectory>& directories);
  Status ClearDirectories();

  FileSystem* const file_system_;
  SpaceFiles* const files_;
  SyncTracker* const syncs_;
  PageLsns* const versions_;
  std::unique_ptr<File> file_;
  Absent absent_;  ///< while repairing
  Mutex mutex_{LatchRank::kDoublewrite};
  std::vector<Segment> segments_ ROWAN_GUARDED_BY(mutex_);
  uint64_t last_sequence_ ROWAN_GUARDED_BY(mutex_) = 0;
};

}  // namespace rowan
