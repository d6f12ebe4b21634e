// SPDX-License-Identifier: GPL-2.0-only
// Writing segments and repairing from them. See doublewrite.h.
//
// Directory page, 4096 bytes, little-endian:
//   offset size
//   0      4    CRC-32C over bytes [4, 4096)
//   4      4    magic "RWDW"
//   8      4    format version, 2; in version 1 no image has a hole
//   12     4    page size in bytes
//   16     8    sequence number of the batch
//   24     8    settled: batches up to this number are durable at home
//   32     4    number of pages, at most 128
//   36     4    contents: 0 = the images follow, 1 = checksums only
//   40     24   zero
//   64     16*n entries
// Entry:
//   offset size
//   0      8    page id, space in the high half
//   8      4    checksum of the image
//   12     2    hole: offset in the page, in units of 64 bytes
//   14     2    hole: length, in units of 64 bytes; 0 = none
#include "buffer/page/doublewrite.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <set>

#include "base/assertions.h"
#include "base/counters.h"
#include "base/crc32c.h"
#include "base/logging.h"
#include "buffer/page/flush_reason.h"
#include "buffer/page/page_header.h"
#include "buffer/page/page_hole.h"
#include "io/placed_file.h"

namespace rowan {
namespace {

constexpr uint32_t kDirectoryMagic = 0x57445752;  // "RWDW"
constexpr uint32_t kDoublewriteVersion = 2;
constexpr size_t kDirectoryMagicOffset = 4;
constexpr size_t kDirectoryVersionOffset = 8;
constexpr size_t kPageSizeOffset = 12;
constexpr size_t kSequenceOffset = 16;
constexpr size_t kSettledOffset = 24;
constexpr size_t kDirectoryCountOffset = 32;
constexpr size_t kContentsOffset = 36;
constexpr size_t kEntriesOffset = 64;
constexpr size_t kDirectoryEntryBytes = 16;
constexpr size_t kEntryChecksum = 8;
constexpr size_t kEntryHoleBegin = 12;
constexpr size_t kEntryHoleLength = 14;
constexpr uint32_t kEntriesMax = 128;
/// A batch is sent in two pieces: the device works on one while the kernel prepares the other.
constexpr size_t kDirectoryPieceBytes = kDirectoryBytes + (size_t{1} << 20);
static_assert(kSegmentPieces * kDirectoryPieceBytes >= kDirectoryBytes + (size_t{2} << 20));
static_assert(kEntriesOffset + kEntriesMax * kDirectoryEntryBytes <= kDirectoryBytes);
static_assert(SegmentPages(kPageSizeMin) == 128 && SegmentPages(16384) == 128);
static_assert(SegmentPages(kPageSizeMax) == 32);

struct DirectoryEntry {
  PageId id;
  uint32_t checksum = 0;
  PageHole hole;
};

struct Directory {
  uint64_t sequence = 0;
  uint64_t settled = 0;
  DoublewriteFile::Contents contents = DoublewriteFile::Contents::kImages;
  std::vector<DirectoryEntry> entries;
};

/// False for a directory that is torn, empty or none at all.
bool ParseDirectory(Bytes bytes, uint32_t page_size, Directory* directory, Status* status) {
  if (LoadLe<uint32_t>(bytes.data() + kDirectoryMagicOffset) != kDirectoryMagic) return false;
  if (LoadLe<uint32_t>(bytes.data()) != Crc32c(bytes.subspan(kDirectoryMagicOffset))) return false;
  if (LoadLe<uint32_t>(bytes.data() + kDirectoryVersionOffset) > kDoublewriteVersion) {
    *status = Status(Code::kNewerFormat, "the doublewrite file has a newer format");
    return false;
  }
  const uint32_t count = LoadLe<uint32_t>(bytes.data() + kDirectoryCountOffset);
  const uint32_t contents = LoadLe<uint32_t>(bytes.data() + kContentsOffset);
  if (contents > static_cast<uint32_t>(DoublewriteFile::Contents::kChecksums)) return false;
  directory->contents = static_cast<DoublewriteFile::Contents>(contents);
  if (LoadLe<uint32_t>(bytes.data() + kPageSizeOffset) != page_size) return false;
  if (count > kEntriesMax) return false;
  directory->sequence = LoadLe<uint64_t>(bytes.data() + kSequenceOffset);
  directory->settled = LoadLe<uint64_t>(bytes.data() + kSettledOffset);
  directory->entries.clear();
  for (uint32_t i = 0; i < count; ++i) {
    const std::byte* entry = bytes.data() + kEntriesOffset + i * kDirectoryEntryBytes;
    const PageHole hole{LoadLe<uint16_t>(entry + kEntryHoleBegin) * PageHole::kUnitBytes,
                        LoadLe<uint16_t>(entry + kEntryHoleLength) * PageHole::kUnitBytes};
    if (hole.begin + hole.bytes > page_size) return false;
    directory->entries.push_back(
        {PageId::Unpack(LoadLe<uint64_t>(entry)), LoadLe<uint32_t>(entry + kEntryChecksum), hole});
  }
  return true;
}

/// Assembles a segment: sequence and settled of `head`, the pages and images of `batch`. Returns
/// the bytes to write.
size_t PackSegment(const Directory& head, const DoublewriteFile::Batch& batch, uint32_t page_size,
                   std::byte* packed) {
  std::memset(packed, 0, kDirectoryBytes);
  StoreLe<uint32_t>(packed + kDirectoryMagicOffset, kDirectoryMagic);
  StoreLe<uint32_t>(packed + kDirectoryVersionOffset, kDoublewriteVersion);
  StoreLe<uint32_t>(packed + kPageSizeOffset, page_size);
  StoreLe<uint64_t>(packed + kSequenceOffset, head.sequence);
  StoreLe<uint64_t>(packed + kSettledOffset, head.settled);
  StoreLe<uint32_t>(packed + kDirectoryCountOffset, static_cast<uint32_t>(batch.pages.size()));
  StoreLe<uint32_t>(packed + kContentsOffset, static_cast<uint32_t>(batch.contents));
  std::byte* end = packed + kDirectoryBytes;
  for (size_t i = 0; i < batch.pages.size(); ++i) {
    const Bytes image(batch.images + i * page_size, page_size);
    std::byte* entry = packed + kEntriesOffset + i * kDirectoryEntryBytes;
    StoreLe<uint64_t>(entry, batch.pages[i].Packed());
    StoreLe<uint32_t>(entry + kEntryChecksum, LoadLe<uint32_t>(image.data()));
    if (batch.contents != DoublewriteFile::Contents::kImages) continue;
    const PageHole hole = FindHole(image);
    StoreLe<uint16_t>(entry + kEntryHoleBegin,
                      static_cast<uint16_t>(hole.begin / PageHole::kUnitBytes));
    StoreLe<uint16_t>(entry + kEntryHoleLength,
                      static_cast<uint16_t>(hole.bytes / PageHole::kUnitBytes));
    end = PackImage(image, hole, end);
  }
  StoreLe<uint32_t>(
      packed, Crc32c({packed + kDirectoryMagicOffset, kDirectoryBytes - kDirectoryMagicOffset}));
  const auto bytes = static_cast<size_t>(end - packed);
  const size_t padded = (bytes + kDirectAlignment - 1) / kDirectAlignment * kDirectAlignment;
  std::memset(end, 0, padded - bytes);
  return padded;
}

}  // namespace

/// A usable image found by repair.
struct DoublewriteFile::Image {
  PageId id;
  uint64_t sequence;
  uint64_t offset;  ///< in the doublewrite file
  PageHole hole;
};

struct DoublewriteFile::PlacedDirectory {
  uint64_t offset;  ///< in the doublewrite file
  Directory directory;
};

uint64_t DoublewriteFile::StrideBytes() const {
  const uint64_t page_size = files_->page_size_bytes();
  return kDirectoryBytes + SegmentPages(files_->page_size_bytes()) * page_size;
}

Status DoublewriteFile::Check(Lsn log_end) {
  const std::string path = files_->folder() + "/" + kDoublewriteFileName;
  Result<std::unique_ptr<File>> opened = file_system_->Open(path, {.read_only = true});
  if (opened.status().Is(Code::kNotFound)) return Status::Ok();
  if (!opened.ok()) return opened.status();
  file_ = std::move(opened).value();
  std::vector<PlacedDirectory> directories;
  std::vector<Image> images;
  const Status status = ReadDirectories(&directories);
  if (!status.ok()) return status;
  return CollectImages(directories, log_end, &images);
}

Status DoublewriteFile::Open(uint32_t segments) {
  const std::string path = files_->folder() + "/" + kDoublewriteFileName;
  const Result<bool> exists = file_system_->Exists(path);
  if (!exists.ok()) return exists.status();
  // Write-through: a batch is durable when its writes are done, without a call in between.
  FileOptions open_options{.create = true, .direct = true, .write_through = true};
  Result<std::unique_ptr<File>> opened = file_system_->Open(path, open_options);
  if (!opened.ok() && opened.status().Is(Code::kIoError) && opened.status().detail() == EINVAL) {
    open_options.direct = false;
    opened = file_system_->Open(path, open_options);
  }
  if (!opened.ok()) return opened.status();
  file_ = std::move(opened).value();
  {
    const MutexLock lock(&mutex_);
    segments_.resize(segments);
  }
  const uint64_t wanted = segments * StrideBytes();
  const Result<uint64_t> size = file_->Size();
  if (!size.ok()) return size.status();
  if (size.value() < wanted) {
    // Allocate real blocks now, so no batch later fails or slows down for lack of space.
    const Status allocated = file_->Allocate(size.value(), wanted - size.value());
    if (!allocated.ok()) return allocated;
    const Status synced = file_->Sync(SyncMethod::kFsync);
    if (!synced.ok()) return synced;
  }
  return exists.value() ? Status::Ok() : file_system_->SyncDirectory(files_->folder());
}

Status DoublewriteFile::StartSegment(uint32_t segment, const Batch& batch, MutableBytes packed,
                                     WriteBatch* writes) {
  const uint32_t page_size = files_->page_size_bytes();
  ROWAN_CHECK(!batch.pages.empty());
  ROWAN_CHECK(batch.pages.size() <= SegmentPages(page_size));
  ROWAN_CHECK(packed.size() >= PackedBytesMax(batch.pages.size(), page_size));
  Status status = Settle(segment);
  if (!status.ok()) return status;
  Directory head;
  {
    const MutexLock guard(&mutex_);
    head.settled = head.sequence = ++last_sequence_;
    ROWAN_DCHECK(segment < segments_.size() && segments_[segment].sequence == 0);
    segments_[segment] = Segment{.sequence = head.sequence};
    for (const Segment& other : segments_) {
      if (other.sequence != 0 && other.sequence < head.settled) head.settled = other.sequence;
    }
  }
  --head.settled;
  Bytes bytes = packed.first(PackSegment(head, batch, page_size, packed.data()));
  AddCounter(Counter::kDoublewriteBatches);
  AddCounter(Counter::kDoublewritePages, batch.pages.size());
  CountWritten(WriteCause::kDoublewrite, bytes.size());
  for (uint64_t offset = segment * StrideBytes(); !bytes.empty();) {
    const Bytes piece = bytes.first(std::min(bytes.size(), kDirectoryPieceBytes));
    status = writes->Submit(file_.get(), offset, piece);
    if (!status.ok()) break;
    bytes = bytes.subspan(piece.size());
    offset += piece.size();
  }
  writes->Send();
  return status;
}

void DoublewriteFile::NoteHome(uint32_t segment, std::vector<Touched> touched) {
  const MutexLock guard(&mutex_);
  ROWAN_DCHECK(segments_[segment].sequence != 0 && !segments_[segment].home);
  segments_[segment].home = true;
  segments_[segment].touched = std::move(touched);
}

Status DoublewriteFile::Settle(uint32_t segment) {
  std::vector<std::pair<size_t, uint64_t>> settled;  // segment and its batch
  std::vector<Touched> touched;
  {
    const MutexLock guard(&mutex_);
    const Segment& wanted = segments_[segment];
    if (wanted.sequence == 0) return Status::Ok();
    if (!wanted.home) return Status(Code::kStopped, "a batch never came home");
    for (size_t i = 0; i < segments_.size(); ++i) {
      const Segment& older = segments_[i];
      if (older.sequence == 0 || !older.home || older.sequence > wanted.sequence) continue;
      settled.emplace_back(i, older.sequence);
      touched.insert(touched.end(), older.touched.begin(), older.touched.end());
    }
  }
  // The newest write of each file covers the others.
  std::sort(touched.begin(), touched.end(), [](const Touched& a, const Touched& b) {
    return a.first != b.first ? a.first < b.first : a.second > b.second;
  });
  const auto same_file = [](const Touched& a, const Touched& b) { return a.first == b.first; };
  touched.erase(std::unique(touched.begin(), touched.end(), same_file), touched.end());
  const Status status = syncs_->EnsureAllSynced(touched);
  if (!status.ok()) return status;
  const MutexLock guard(&mutex_);
  for (const auto& [number, sequence] : settled) {
    if (segments_[number].sequence == sequence) segments_[number] = Segment();
  }
  return Status::Ok();
}

Status DoublewriteFile::Reset() {
  const Status status = syncs_->SyncAll();
  if (!status.ok()) return status;
  {
    const MutexLock guard(&mutex_);
    for (Segment& segment : segments_) segment = Segment();
  }
  return file_ == nullptr ? Status::Ok() : ClearDirectories();
}

Status DoublewriteFile::ClearDirectories() {
  const Result<uint64_t> size = file_->Size();
  if (!size.ok()) return size.status();
  const AlignedBuffer zeros(kDirectoryBytes);
  for (uint64_t offset = 0; offset + kDirectoryBytes <= size.value(); offset += StrideBytes()) {
    const Status status = file_->Write(WriteCause::kDoublewrite, offset, zeros.span());
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

Status DoublewriteFile::CollectImages(const std::vector<PlacedDirectory>& directories, Lsn log_end,
                                      std::vector<Image>* images) {
  const uint32_t page_size = files_->page_size_bytes();
  AlignedBuffer image(page_size);
  std::map<PageId, Image> newest;
  for (const auto& [offset, directory] : directories) {
    if (directory.contents != Contents::kImages) continue;
    uint64_t position = offset + kDirectoryBytes;
    for (const auto& [id, checksum, hole] : directory.entries) {
      const Image found{id, directory.sequence, position, hole};
      position += page_size - hole.bytes;
      const Status status = ReadImage(found, image.span());
      if (!status.ok()) return status;
      // An incomplete image was never synced, so its page was not written home either.
      if (LoadLe<uint32_t>(image.data()) != checksum) continue;
      if (VerifyPage(image.span(), id) != PageVerdict::kGood) continue;
      if (PageLsnOf(image.data()) > log_end) {
        LogError(
            "The redo log ends at LSN {}, but page {} of {} was written at LSN {}: the end of "
            "the log is damaged. Nothing was changed.",
            log_end.value(), id.page.value(), files_->PathOf(id.space),
            PageLsnOf(image.data()).value());
        return Status(Code::kCorrupt, "the redo log lost its end", id.page.value());
      }
      const auto [known, fresh] = newest.try_emplace(id, found);
      if (!fresh && known->second.sequence < found.sequence) known->second = found;
    }
  }
  for (const auto& [id, found] : newest) images->push_back(found);
  return Status::Ok();
}

Status DoublewriteFile::ReadImage(const Image& image, MutableBytes page) {
  // A packed image begins anywhere; reads are aligned.
  const uint64_t start = image.offset / kDirectAlignment * kDirectAlignment;
  const size_t skipped = image.offset - start;
  const size_t packed_bytes = page.size() - image.hole.bytes;
  const size_t units = (skipped + packed_bytes - 1) / kDirectAlignment + 1;
  AlignedBuffer read(units * kDirectAlignment);
  const Status status = file_->Read(start, read.span());
  if (!status.ok()) return status;
  UnpackImage(read.span().subspan(skipped, packed_bytes), image.hole, page);
  return Status::Ok();
}

Result<DoublewriteFile::Home> DoublewriteFile::LookAtHome(PageId id, MutableBytes page) {
  const auto read = [&]() -> Status {
    if (!files_->IsLive(id.space)) {
      const Status opened = files_->Open(id.space);
      if (!opened.ok()) return opened;
    }
    return files_->ReadPage(id, page);
  };
  const Status status = read();
  if (status.Is(Code::kNotFound) || IsPlaceMissing(status)) {
    // A page that may be torn has changes in the log. A file without any loses nothing.
    const bool changed = absent_.has_changes_in_log && absent_.has_changes_in_log(id.space);
    return changed ? Home::kUnreachable : Home::kDropped;
  }
  const bool beyond_end = status.Is(Code::kIoError) && status.detail() == 0;
  if (!status.ok() && !beyond_end) {
    if (id.space >= kFirstTableSpace && absent_.unreadable) return Home::kUnreachable;
    LogError(
        "Page {} of '{}' cannot be looked at ({}, error {}), and 'rowan.doublewrite' may have to "
        "repair it. Make the file readable and start again; if it is a table's, "
        "rowan_force_recovery = 1 serves the others until it can be read.",
        id.page.value(), files_->PathOf(id.space), status.message(), status.detail());
    return status;
  }
  if (beyond_end || IsAllZero(page)) return Home::kUnwritten;
  if (VerifyPage(page, id) != PageVerdict::kGood) return Home::kTorn;
  if (!versions_->IsStale(id, PageLsnOf(page.data()))) return Home::kWhole;
  AddCounter(Counter::kStalePages);
  return Home::kStale;
}

const char* DoublewriteFile::Describe(Home home) {
  if (home == Home::kUnwritten) return "never written";
  return home == Home::kStale ? "older than its last write" : "torn";
}

Status DoublewriteFile::WriteHome(PageId id, Bytes page) {
  CountWritten(CauseOf(id.space, FlushReason::kStart), page.size());
  const Status status = files_->WritePage(id, page);
  if (status.ok()) syncs_->NoteWrite(id.space);
  return status;
}

Status DoublewriteFile::RepairPage(const Image& image, Findings* findings) {
  const PageId id = image.id;
  AlignedBuffer page(files_->page_size_bytes());
  const Result<Home> home = LookAtHome(id, page.span());
  if (!home.ok()) return home.status();
  if (home.value() == Home::kDropped) return Status::Ok();
  if (home.value() == Home::kWhole) return WriteHome(id, page.span());
  Status status = ReadImage(image, page.span());
  if (!status.ok()) return status;
  if (home.value() == Home::kUnreachable) return absent_.keep(id, page.span());
  const Lsn lsn = PageLsnOf(page.data());
  if (versions_->IsStale(id, lsn)) return Status::Ok();  // no better; its reader reports it
  status = WriteHome(id, page.span());
  if (!status.ok()) return status;
  versions_->Note(id, lsn);
  AddCounter(Counter::kPagesRepaired);
  if (findings->torn + findings->unwritten + findings->stale == 0) findings->first = id;
  if (home.value() == Home::kTorn) ++findings->torn;
  if (home.value() == Home::kUnwritten) ++findings->unwritten;
  if (home.value() == Home::kStale) ++findings->stale;
  return Status::Ok();
}

Status DoublewriteFile::RewriteListed(const std::vector<PlacedDirectory>& directories) {
  AlignedBuffer page(files_->page_size_bytes());
  std::set<PageId> seen;
  for (const PlacedDirectory& placed : directories) {
    if (placed.directory.contents != Contents::kChecksums) continue;
    for (const auto& [id, checksum, hole] : placed.directory.entries) {
      if (!seen.insert(id).second) continue;
      const Result<Home> home = LookAtHome(id, page.span());
      if (!home.ok()) return home.status();
      if (home.value() == Home::kWhole) {
        const Status status = WriteHome(id, page.span());
        if (!status.ok()) return status;
      }
      if (home.value() == Home::kWhole || home.value() == Home::kDropped ||
          home.value() == Home::kUnreachable) {
        continue;
      }
      LogError(
          "Page {} of {} is {}, and rowan_doublewrite = detect_only kept no image of it. "
          "Unless the redo log holds all of the page, the instance cannot be opened.",
          id.page.value(), files_->PathOf(id.space), Describe(home.value()));
    }
  }
  return Status::Ok();
}

Status DoublewriteFile::Repair(Lsn log_end, const Absent& absent) {
  absent_ = absent;
  std::vector<PlacedDirectory> directories;
  std::vector<Image> images;
  Status status = ReadDirectories(&directories);
  if (!status.ok()) return status;
  status = CollectImages(directories, log_end, &images);
  if (!status.ok()) return status;
  Findings findings;
  for (const Image& image : images) {
    status = RepairPage(image, &findings);
    if (!status.ok()) break;
  }
  if (findings.torn + findings.unwritten + findings.stale != 0) {
    LogInfo(
        "Restored from the doublewrite file: pages that were torn: {}, older than their last "
        "write: {}, never written to their place: {}. The first is page {} of {}.",
        findings.torn, findings.stale, findings.unwritten, findings.first.page.value(),
        files_->PathOf(findings.first.space));
  }
  if (!status.ok()) return status;
  status = RewriteListed(directories);
  if (!status.ok()) return status;
  if (absent_.end) status = absent_.end();
  if (!status.ok()) return status;
  return Reset();
}

}  // namespace rowan
