// SPDX-License-Identifier: GPL-2.0-only
// Writing segments and repairing from them. See doublewrite.h.
//
// Directory page, 4096 bytes, little-endian:
//   offset size
//   0      4    CRC-32C over bytes [4, 4096)
//   4      4    magic "RWDW"
//   8      4    format version, 1
//   12     4    page size in bytes
//   16     8    sequence number of the batch
//   24     8    settled: batches up to this number are durable at home
//   32     4    number of pages, at most 128
//   36     4    contents: 0 = the images follow, 1 = checksums only
//   40     24   zero
//   64     16*n entries: page id u64 (space high), image checksum u32, zero u32
#include "buffer/doublewrite.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <set>

#include "base/assertions.h"
#include "base/counters.h"
#include "base/crc32c.h"
#include "base/logging.h"
#include "buffer/page_header.h"

namespace rowan {
namespace {

constexpr uint32_t kMagic = 0x57445752;  // "RWDW"
constexpr uint32_t kDoublewriteVersion = 1;
constexpr size_t kMagicOffset = 4;
constexpr size_t kVersionOffset = 8;
constexpr size_t kPageSizeOffset = 12;
constexpr size_t kSequenceOffset = 16;
constexpr size_t kSettledOffset = 24;
constexpr size_t kCountOffset = 32;
constexpr size_t kContentsOffset = 36;
constexpr size_t kEntriesOffset = 64;
constexpr size_t kEntryBytes = 16;
constexpr uint32_t kEntriesMax = 128;
static_assert(kEntriesOffset + kEntriesMax * kEntryBytes <= kDirectoryBytes);
static_assert(SegmentPages(kPageSizeMin) == 128 && SegmentPages(16384) == 128);
static_assert(SegmentPages(kPageSizeMax) == 32);

struct Directory {
  uint64_t sequence = 0;
  uint64_t settled = 0;
  DoublewriteFile::Contents contents = DoublewriteFile::Contents::kImages;
  std::vector<std::pair<PageId, uint32_t>> entries;  ///< page and image checksum
};

/// False for a directory that is torn, empty or not one at all.
bool ParseDirectory(Bytes bytes, uint32_t page_size, Directory* directory, Status* status) {
  if (LoadLe<uint32_t>(bytes.data() + kMagicOffset) != kMagic) return false;
  if (LoadLe<uint32_t>(bytes.data()) != Crc32c(bytes.subspan(kMagicOffset))) return false;
  if (LoadLe<uint32_t>(bytes.data() + kVersionOffset) > kDoublewriteVersion) {
    *status = Status(Code::kNewerFormat, "the doublewrite file has a newer format");
    return false;
  }
  const uint32_t count = LoadLe<uint32_t>(bytes.data() + kCountOffset);
  const uint32_t contents = LoadLe<uint32_t>(bytes.data() + kContentsOffset);
  if (contents > static_cast<uint32_t>(DoublewriteFile::Contents::kChecksums)) return false;
  directory->contents = static_cast<DoublewriteFile::Contents>(contents);
  if (LoadLe<uint32_t>(bytes.data() + kPageSizeOffset) != page_size) return false;
  if (count > kEntriesMax) return false;
  directory->sequence = LoadLe<uint64_t>(bytes.data() + kSequenceOffset);
  directory->settled = LoadLe<uint64_t>(bytes.data() + kSettledOffset);
  directory->entries.clear();
  for (uint32_t i = 0; i < count; ++i) {
    const std::byte* entry = bytes.data() + kEntriesOffset + i * kEntryBytes;
    directory->entries.emplace_back(PageId::Unpack(LoadLe<uint64_t>(entry)),
                                    LoadLe<uint32_t>(entry + 8));
  }
  return true;
}

/// Sequence, settled and contents of `head` with the pages and checksums of a batch.
void BuildDirectory(const std::vector<PageId>& pages, uint32_t page_size, const Directory& head,
                    std::byte* buffer) {
  std::memset(buffer, 0, kDirectoryBytes);
  StoreLe<uint32_t>(buffer + kMagicOffset, kMagic);
  StoreLe<uint32_t>(buffer + kVersionOffset, kDoublewriteVersion);
  StoreLe<uint32_t>(buffer + kPageSizeOffset, page_size);
  StoreLe<uint64_t>(buffer + kSequenceOffset, head.sequence);
  StoreLe<uint64_t>(buffer + kSettledOffset, head.settled);
  StoreLe<uint32_t>(buffer + kCountOffset, static_cast<uint32_t>(pages.size()));
  StoreLe<uint32_t>(buffer + kContentsOffset, static_cast<uint32_t>(head.contents));
  const std::byte* images = buffer + kDirectoryBytes;
  for (size_t i = 0; i < pages.size(); ++i) {
    std::byte* entry = buffer + kEntriesOffset + i * kEntryBytes;
    StoreLe<uint64_t>(entry, pages[i].Packed());
    StoreLe<uint32_t>(entry + 8, LoadLe<uint32_t>(images + i * page_size));
  }
  StoreLe<uint32_t>(buffer, Crc32c({buffer + kMagicOffset, kDirectoryBytes - kMagicOffset}));
}

}  // namespace

/// A usable image found by repair.
struct DoublewriteFile::Image {
  PageId id;
  uint64_t sequence;
  uint64_t offset;  ///< in the doublewrite file
};

struct DoublewriteFile::PlacedDirectory {
  uint64_t offset;  ///< in the doublewrite file
  Directory directory;
};

uint64_t DoublewriteFile::StrideBytes() const {
  const uint64_t page_size = files_->page_size_bytes();
  return kDirectoryBytes + SegmentPages(files_->page_size_bytes()) * page_size;
}

Status DoublewriteFile::Open(uint32_t segments) {
  const std::string path = files_->folder() + "/" + kDoublewriteFileName;
  const Result<bool> exists = file_system_->Exists(path);
  if (!exists.ok()) return exists.status();
  // Write-through: a batch is one call, so the writer sleeps once for it, not twice.
  FileOptions open_options{.create = true, .direct = true, .write_through = true};
  Result<std::unique_ptr<File>> opened = file_system_->Open(path, open_options);
  if (!opened.ok() && opened.status().Is(Code::kIoError) && opened.status().detail() == EINVAL) {
    open_options.direct = false;
    opened = file_system_->Open(path, open_options);
  }
  if (!opened.ok()) return opened.status();
  file_ = std::move(opened).value();
  segments_.resize(segments);
  const uint64_t wanted = segments * StrideBytes();
  const Result<uint64_t> size = file_->Size();
  if (!size.ok()) return size.status();
  if (size.value() < wanted) {
    // Real blocks now, so that no batch fails or is slowed down for lack of space later.
    Status status = file_->Allocate(size.value(), wanted - size.value());
    if (status.ok()) status = file_->Sync(SyncMethod::kFsync);
    if (!status.ok()) return status;
  }
  return exists.value() ? Status::Ok() : file_system_->SyncDirectory(files_->folder());
}

Status DoublewriteFile::WriteSegment(uint32_t segment, const std::vector<PageId>& pages,
                                     Contents contents, std::byte* buffer) {
  const uint32_t page_size = files_->page_size_bytes();
  ROWAN_CHECK(!pages.empty());
  ROWAN_CHECK(pages.size() <= SegmentPages(page_size));
  Status status = Settle(segment);
  if (!status.ok()) return status;
  Directory head;
  head.contents = contents;
  {
    std::lock_guard guard(mutex_);
    head.settled = head.sequence = ++last_sequence_;
    segments_[segment].sequence = head.sequence;
    for (const Segment& other : segments_) {
      if (other.sequence != 0 && other.sequence < head.settled) head.settled = other.sequence;
    }
  }
  --head.settled;
  BuildDirectory(pages, page_size, head, buffer);
  const size_t image_bytes = contents == Contents::kImages ? pages.size() * page_size : 0;
  const Bytes bytes(buffer, kDirectoryBytes + image_bytes);
  status = file_->Write(segment * StrideBytes(), bytes);
  AddCounter(Counter::kDoublewriteBatches);
  AddCounter(Counter::kDoublewritePages, pages.size());
  return status;
}

void DoublewriteFile::NoteHome(uint32_t segment,
                               std::vector<std::pair<SpaceId, SyncTracker::Ticket>> touched) {
  std::lock_guard guard(mutex_);
  segments_[segment].touched = std::move(touched);
}

Status DoublewriteFile::Settle(uint32_t segment) {
  std::vector<std::pair<SpaceId, SyncTracker::Ticket>> touched;
  {
    std::lock_guard guard(mutex_);
    touched.swap(segments_[segment].touched);
  }
  for (const auto& [space, ticket] : touched) {
    const Status status = syncs_->EnsureSynced(space, ticket);
    if (!status.ok()) return status;
  }
  std::lock_guard guard(mutex_);
  segments_[segment].sequence = 0;
  return Status::Ok();
}

Status DoublewriteFile::Reset() {
  const Status status = syncs_->SyncAll();
  if (!status.ok()) return status;
  {
    std::lock_guard guard(mutex_);
    for (Segment& segment : segments_) segment = Segment();
  }
  return file_ == nullptr ? Status::Ok() : ClearDirectories();
}

Status DoublewriteFile::ClearDirectories() {
  const Result<uint64_t> size = file_->Size();
  if (!size.ok()) return size.status();
  const AlignedBuffer zeros(kDirectoryBytes);
  for (uint64_t offset = 0; offset + kDirectoryBytes <= size.value(); offset += StrideBytes()) {
    const Status status = file_->Write(offset, zeros.span());
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

Status DoublewriteFile::ReadDirectories(std::vector<PlacedDirectory>* directories) {
  const Result<uint64_t> size = file_->Size();
  if (!size.ok()) return size.status();
  AlignedBuffer buffer(kDirectoryBytes);
  uint64_t settled = 0;
  for (uint64_t offset = 0; offset + StrideBytes() <= size.value(); offset += StrideBytes()) {
    Status status = file_->Read(offset, buffer.span());
    if (!status.ok()) return status;
    Directory directory;
    if (ParseDirectory(buffer.span(), files_->page_size_bytes(), &directory, &status)) {
      settled = std::max(settled, directory.settled);
      directories->push_back({offset, std::move(directory)});
    }
    if (!status.ok()) return status;
  }
  std::erase_if(*directories, [settled](const PlacedDirectory& placed) {
    return placed.directory.sequence <= settled;
  });
  return Status::Ok();
}

Status DoublewriteFile::CollectImages(const std::vector<PlacedDirectory>& directories,
                                      Lsn log_end, std::vector<Image>* images) {
  const uint32_t page_size = files_->page_size_bytes();
  AlignedBuffer image(page_size);
  std::map<PageId, Image> newest;
  for (const auto& [offset, directory] : directories) {
    if (directory.contents != Contents::kImages) continue;
    for (size_t i = 0; i < directory.entries.size(); ++i) {
      const auto& [id, checksum] = directory.entries[i];
      const uint64_t position = offset + kDirectoryBytes + i * page_size;
      const Status status = file_->Read(position, image.span());
      if (!status.ok()) return status;
      // An image that is not whole was never synced, so its page was not written home either.
      if (LoadLe<uint32_t>(image.data()) != checksum) continue;
      if (VerifyPage(image.span(), id) != PageVerdict::kGood) continue;
      if (PageLsnOf(image.data()) > log_end) {
        LogError("The redo log ends at LSN {}, but page {} of {} was written at LSN {}: the end of "
                 "the log is damaged. Nothing was changed.",
                 log_end.value(), id.page.value(), files_->PathOf(id.space),
                 PageLsnOf(image.data()).value());
        return Status(Code::kCorrupt, "the redo log lost its end", id.page.value());
      }
      const auto [found, fresh] = newest.try_emplace(id, Image{id, directory.sequence, position});
      if (!fresh && found->second.sequence < directory.sequence) {
        found->second = Image{id, directory.sequence, position};
      }
    }
  }
  for (const auto& [id, found] : newest) images->push_back(found);
  return Status::Ok();
}

Result<DoublewriteFile::Home> DoublewriteFile::LookAtHome(PageId id, MutableBytes page) {
  if (!files_->IsLive(id.space)) {
    const Status opened = files_->Open(id.space);
    if (opened.Is(Code::kNotFound)) return Home::kDropped;
    if (!opened.ok()) return opened;
  }
  const Status status = files_->ReadPage(id, page);
  const bool beyond_end = status.Is(Code::kIoError) && status.detail() == 0;
  if (!status.ok() && !beyond_end) return status;
  if (beyond_end || VerifyPage(page, id) != PageVerdict::kGood) return Home::kTorn;
  if (!versions_->IsStale(id, PageLsnOf(page.data()))) return Home::kWhole;
  AddCounter(Counter::kStalePages);
  return Home::kStale;
}

const char* DoublewriteFile::Describe(Home home) {
  return home == Home::kStale ? "older than its last write" : "torn";
}

Status DoublewriteFile::WriteHome(PageId id, Bytes page) {
  const Status status = files_->WritePage(id, page);
  if (status.ok()) syncs_->NoteWrite(id.space);
  return status;
}

Status DoublewriteFile::RepairPage(PageId id, uint64_t image_offset) {
  AlignedBuffer page(files_->page_size_bytes());
  const Result<Home> home = LookAtHome(id, page.span());
  if (!home.ok() || home.value() == Home::kDropped) return home.status();
  if (home.value() == Home::kWhole) return WriteHome(id, page.span());
  Status status = file_->Read(image_offset, page.span());
  if (!status.ok()) return status;
  const Lsn lsn = PageLsnOf(page.data());
  if (versions_->IsStale(id, lsn)) return Status::Ok();  // no better; whoever reads it reports it
  status = WriteHome(id, page.span());
  if (!status.ok()) return status;
  versions_->Note(id, lsn);
  AddCounter(Counter::kPagesRepaired);
  LogInfo("Page {} of {} was {} and has been restored from the doublewrite file.",
          id.page.value(), files_->PathOf(id.space), Describe(home.value()));
  return Status::Ok();
}

Status DoublewriteFile::RewriteListed(const std::vector<PlacedDirectory>& directories) {
  AlignedBuffer page(files_->page_size_bytes());
  std::set<PageId> seen;
  for (const PlacedDirectory& placed : directories) {
    if (placed.directory.contents != Contents::kChecksums) continue;
    for (const auto& [id, checksum] : placed.directory.entries) {
      if (!seen.insert(id).second) continue;
      const Result<Home> home = LookAtHome(id, page.span());
      if (!home.ok()) return home.status();
      if (home.value() == Home::kWhole) {
        const Status status = WriteHome(id, page.span());
        if (!status.ok()) return status;
      }
      if (home.value() != Home::kTorn && home.value() != Home::kStale) continue;
      LogError("Page {} of {} is {}, and rowan_doublewrite = detect_only kept no image of it. "
               "Unless the redo log holds all of the page, the instance cannot be opened.",
               id.page.value(), files_->PathOf(id.space), Describe(home.value()));
    }
  }
  return Status::Ok();
}

Status DoublewriteFile::Repair(Lsn log_end) {
  std::vector<PlacedDirectory> directories;
  std::vector<Image> images;
  Status status = ReadDirectories(&directories);
  if (status.ok()) status = CollectImages(directories, log_end, &images);
  for (const Image& image : images) {
    if (status.ok()) status = RepairPage(image.id, image.offset);
  }
  if (status.ok()) status = RewriteListed(directories);
  return status.ok() ? Reset() : status;
}

}  // namespace rowan
