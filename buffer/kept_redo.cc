// SPDX-License-Identifier: GPL-2.0-only
// Files of kept redo: writing, finding and applying them. See kept_redo.h.
//
// Header, 64 bytes, little-endian:
//   offset size
//   0      4    CRC-32C over bytes [4, 64)
//   4      4    magic "RWKR"
//   8      4    format version, 1
//   12     4    page size in bytes
//   16     4    space id
//   20     4    number of blocks
//   24     8    bytes of the file
//   32     32   zero
// Block, one after the other:
//   offset size
//   0      4    CRC-32C over bytes [4, 32)
//   4      4    CRC-32C over the body
//   8      8    page id, space in the high half
//   16     4    kind: 1 = records, 2 = image of the page
//   20     4    bytes of the body
//   24     8    zero
//   32     ...  body
// Record in a body:
//   offset size
//   0      8    LSN of the end of its group
//   8      4    bytes of the record's body, which follows
//   12     1    type
//   13     1    version
//   14     2    zero
#include "buffer/kept_redo.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "base/assertions.h"
#include "base/crc32c.h"
#include "base/format.h"
#include "base/logging.h"
#include "buffer/page/page_header.h"
#include "io/space_files.h"
#include "wal/redo.h"

namespace rowan {
namespace {

constexpr std::string_view kPrefix = "space_";
constexpr std::string_view kSuffix = ".redo";
constexpr std::string_view kDraftSuffix = ".redo.draft";
constexpr uint32_t kKeptRedoMagic = 0x524b5752;  // "RWKR"
constexpr uint32_t kKeptRedoVersion = 1;
constexpr size_t kKeptRedoHeaderBytes = 64;
constexpr size_t kBlockHeaderBytes = 32;
constexpr size_t kRecordHeaderBytes = 16;
/// Larger lists of records take several blocks.
constexpr size_t kBodyBytesWanted = size_t{1} << 20;
constexpr size_t kCopyBytes = size_t{1} << 20;

Status Damaged() { return Status(Code::kCorrupt, "kept log records are damaged"); }

}  // namespace

std::string KeptRedo::PathOf(SpaceId space, std::string_view suffix) const {
  return Format("{}/{}{}{}", folder_, kPrefix, space.value(), suffix);
}
std::string KeptRedo::PathOf(SpaceId space) const { return PathOf(space, kSuffix); }

Status KeptRedo::Load() {
  Result<std::vector<std::string>> names = file_system_->List(folder_);
  if (!names.ok()) return names.status();
  for (const std::string& name : *names) {
    const std::optional<SpaceId> space = ParseSpaceName(name, kSuffix);
    if (!space.has_value()) continue;
    const std::string path = folder_ + "/" + name;
    const Status status = LoadFile(*space, path);
    if (status.Is(Code::kCorrupt)) {
      LogError("The file '{}' with kept log records is damaged.", path);
      broken_.push_back(*space);
    } else if (!status.ok()) {
      LogError("The file '{}' with kept log records cannot be used ({}, error {}).", path,
               status.message(), status.detail());
      return status;
    }
  }
  return Status::Ok();
}

void KeptRedo::RemoveDrafts() {
  Result<std::vector<std::string>> names = file_system_->List(folder_);
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    if (ParseSpaceName(name, kDraftSuffix)) file_system_->Remove(folder_ + "/" + name).Ignore();
  }
}

Status KeptRedo::LoadFile(SpaceId space, const std::string& path) {
  Result<std::unique_ptr<File>> opened = file_system_->Open(path, {.read_only = true});
  if (!opened.ok()) return opened.status();
  Kept kept{.file = std::move(opened).value()};
  const Result<uint64_t> size = kept.file->Size();
  if (!size.ok()) return size.status();
  std::vector<std::byte> header(kKeptRedoHeaderBytes);
  if (size.value() < kKeptRedoHeaderBytes) return Damaged();
  const Status read = kept.file->Read(0, header);
  if (!read.ok()) return read;
  if (LoadLe<uint32_t>(header.data() + 4) != kKeptRedoMagic) return Damaged();
  if (LoadLe<uint32_t>(header.data()) != Crc32c(Bytes(header).subspan(4))) return Damaged();
  if (LoadLe<uint32_t>(header.data() + 8) > kKeptRedoVersion) {
    return Status(Code::kNewerFormat, "a newer version of Rowan wrote it");
  }
  kept.end = LoadLe<uint64_t>(header.data() + 24);
  if (LoadLe<uint32_t>(header.data() + 12) != page_size_bytes_ || kept.end != size.value() ||
      LoadLe<uint32_t>(header.data() + 16) != space.value()) {
    return Damaged();
  }
  return LoadBlocks(space, &kept, LoadLe<uint32_t>(header.data() + 20));
}

Status KeptRedo::LoadBlocks(SpaceId space, Kept* kept, uint32_t blocks) {
  std::vector<std::pair<uint64_t, Block>> found;
  std::vector<std::byte> header(kBlockHeaderBytes);
  uint64_t offset = kKeptRedoHeaderBytes;
  while (kept->blocks < blocks) {
    if (offset + kBlockHeaderBytes > kept->end) return Damaged();
    const Status read = kept->file->Read(offset, header);
    if (!read.ok()) return read;
    if (LoadLe<uint32_t>(header.data()) != Crc32c(Bytes(header).subspan(4))) return Damaged();
    const auto page = LoadLe<uint64_t>(header.data() + 8);
    const Block block{.kind = static_cast<Kind>(LoadLe<uint32_t>(header.data() + 16)),
                      .offset = offset + kBlockHeaderBytes,
                      .bytes = LoadLe<uint32_t>(header.data() + 20),
                      .checksum = LoadLe<uint32_t>(header.data() + 4)};
    offset = block.offset + block.bytes;
    if (PageId::Unpack(page).space != space || offset > kept->end) return Damaged();
    found.emplace_back(page, block);
    ++kept->blocks;
  }
  if (offset != kept->end) return Damaged();
  const ExclusiveLock lock(&mutex_);
  for (const auto& [page, block] : found) pages_[page].push_back(block);
  page_count_.store(pages_.size(), std::memory_order_release);
  spaces_[space] = std::move(*kept);
  return Status::Ok();
}

Status KeptRedo::AddRecords(PageId page, const RedoPortion::Record* first) {
  std::vector<std::byte> body;
  for (const RedoPortion::Record* record = first; record != nullptr; record = record->next) {
    ROWAN_DCHECK(record->next == nullptr || record->next->group_end >= record->group_end);
    const size_t at = body.size();
    body.resize(at + kRecordHeaderBytes + record->body_bytes);
    std::byte* out = body.data() + at;
    StoreLe<uint64_t>(out, record->group_end.value());
    StoreLe<uint32_t>(out + 8, record->body_bytes);
    out[12] = static_cast<std::byte>(record->type);
    out[13] = static_cast<std::byte>(record->version);
    if (record->body_bytes != 0) {
      std::memcpy(out + kRecordHeaderBytes, record->body().data(), record->body_bytes);
    }
    // The page gets the LSN of a group with its last record: a block ends where a group does.
    const bool group_ends = record->next == nullptr || record->next->group_end != record->group_end;
    if (!group_ends || (body.size() < kBodyBytesWanted && record->next != nullptr)) continue;
    const Status status = Add(page, Kind::kRecords, body);
    if (!status.ok()) return status;
    body.clear();
  }
  return Status::Ok();
}

Status KeptRedo::AddImage(PageId page, Bytes image) { return Add(page, Kind::kImage, image); }

Result<KeptRedo::Kept*> KeptRedo::DraftOf(SpaceId space) {
  const ExclusiveLock lock(&mutex_);
  Kept& kept = spaces_[space];
  if (kept.draft) return &kept;
  const std::string path = PathOf(space, kDraftSuffix);
  file_system_->Remove(path).Ignore();  // of a run that died
  Result<std::unique_ptr<File>> draft = file_system_->Open(path, {.create = true});
  if (!draft.ok()) return draft.status();
  std::vector<std::byte> piece;
  const uint64_t end = std::max<uint64_t>(kept.end, kKeptRedoHeaderBytes);
  for (uint64_t offset = 0; offset < kept.end; offset += piece.size()) {
    piece.resize(std::min<uint64_t>(kCopyBytes, kept.end - offset));
    const Status read = kept.file->Read(offset, piece);
    if (!read.ok()) return read;
    const Status written = (*draft)->Write(WriteCause::kKeptRedo, offset, piece);
    if (!written.ok()) return written;
  }
  kept.file = std::move(draft).value();
  kept.end = end;
  kept.draft = true;
  return &kept;
}

Status KeptRedo::Add(PageId page, Kind kind, Bytes body) {
  Result<Kept*> draft = DraftOf(page.space);
  if (!draft.ok()) return draft.status();
  Kept* const kept = draft.value();
  ROWAN_DCHECK(kept->draft && kept->end >= kKeptRedoHeaderBytes);
  std::vector<std::byte> bytes(kBlockHeaderBytes + body.size());
  const Block block{.kind = kind,
                    .offset = kept->end + kBlockHeaderBytes,
                    .bytes = static_cast<uint32_t>(body.size()),
                    .checksum = Crc32c(body)};
  StoreLe<uint32_t>(bytes.data() + 4, block.checksum);
  StoreLe<uint64_t>(bytes.data() + 8, page.Packed());
  StoreLe<uint32_t>(bytes.data() + 16, static_cast<uint32_t>(kind));
  StoreLe<uint32_t>(bytes.data() + 20, block.bytes);
  StoreLe<uint32_t>(bytes.data(), Crc32c(Bytes(bytes).subspan(4, kBlockHeaderBytes - 4)));
  std::memcpy(bytes.data() + kBlockHeaderBytes, body.data(), body.size());
  const Status status = kept->file->Write(WriteCause::kKeptRedo, kept->end, bytes);
  if (!status.ok()) return status;
  kept->end += bytes.size();
  ++kept->blocks;
  const ExclusiveLock lock(&mutex_);
  pages_[page.Packed()].push_back(block);
  page_count_.store(pages_.size(), std::memory_order_release);
  return status;
}

Status KeptRedo::WriteHeader(SpaceId space, const Kept& kept) const {
  ROWAN_DCHECK(kept.draft && kept.end >= kKeptRedoHeaderBytes);
  std::vector<std::byte> header(kKeptRedoHeaderBytes);
  StoreLe<uint32_t>(header.data() + 4, kKeptRedoMagic);
  StoreLe<uint32_t>(header.data() + 8, kKeptRedoVersion);
  StoreLe<uint32_t>(header.data() + 12, page_size_bytes_);
  StoreLe<uint32_t>(header.data() + 16, space.value());
  StoreLe<uint32_t>(header.data() + 20, kept.blocks);
  StoreLe<uint64_t>(header.data() + 24, kept.end);
  StoreLe<uint32_t>(header.data(), Crc32c(Bytes(header).subspan(4)));
  return kept.file->Write(WriteCause::kKeptRedo, 0, header);
}

Status KeptRedo::SealOne(SpaceId space, const Kept& kept) {
  Status status = WriteHeader(space, kept);
  if (!status.ok()) return status;
  status = kept.file->Sync(SyncMethod::kFsync);
  if (!status.ok()) return status;
  return file_system_->Rename(PathOf(space, kDraftSuffix), PathOf(space));
}

Status KeptRedo::Seal() {
  bool renamed = false;
  const ExclusiveLock lock(&mutex_);
  for (auto& [space, kept] : spaces_) {
    if (!kept.draft) continue;
    const Status status = SealOne(space, kept);
    if (!status.ok()) {
      LogError("The file '{}' could not be written: {}.", PathOf(space), status.message());
      return status;
    }
    kept.draft = false;
    renamed = true;
  }
  return renamed ? file_system_->SyncDirectory(folder_) : Status::Ok();
}

Status KeptRedo::Remove(SpaceId space) {
  {
    const ExclusiveLock lock(&mutex_);
    if (spaces_.erase(space) == 0) return Status::Ok();
    std::erase_if(pages_,
                  [space](const auto& page) { return PageId::Unpack(page.first).space == space; });
    page_count_.store(pages_.size(), std::memory_order_release);
  }
  const Status status = file_system_->Remove(PathOf(space));
  if (!status.ok() && !status.Is(Code::kNotFound)) return status;
  return file_system_->SyncDirectory(folder_);
}

bool KeptRedo::Has(PageId page) const {
  if (empty()) return false;
  const SharedLock lock(&mutex_);
  return pages_.contains(page.Packed());
}

std::vector<uint64_t> KeptRedo::Pages() const {
  const SharedLock lock(&mutex_);
  std::vector<uint64_t> pages;
  for (const auto& [page, blocks] : pages_) pages.push_back(page);
  return pages;
}

std::vector<SpaceId> KeptRedo::Spaces() const {
  const SharedLock lock(&mutex_);
  std::vector<SpaceId> spaces;
  for (const auto& [space, kept] : spaces_) spaces.push_back(space);
  return spaces;
}

KeptRedo::PageBlocks KeptRedo::BlocksOf(PageId page) const {
  const SharedLock lock(&mutex_);
  const auto blocks = pages_.find(page.Packed());
  const auto kept = spaces_.find(page.space);
  if (blocks == pages_.end() || kept == spaces_.end()) return {};
  return {kept->second.file, blocks->second};
}

Status KeptRedo::Apply(PageId page, MutableBytes bytes, bool readable) const {
  const PageBlocks kept = BlocksOf(page);
  std::vector<std::byte> body;
  for (const Block& block : kept.blocks) {
    body.resize(block.bytes);
    const Status read = kept.file->Read(block.offset, body);
    if (!read.ok()) return read;
    if (Crc32c(body) != block.checksum) return Damaged();
    if (block.kind == Kind::kRecords) {
      const Status status = ApplyRecords(page, body, bytes, &readable);
      if (!status.ok()) return status;
    } else if (!readable && body.size() == bytes.size()) {
      std::memcpy(bytes.data(), body.data(), body.size());
      readable = true;
    }
  }
  return readable ? Status::Ok() : Status(Code::kCorrupt, "a page is damaged", page.page.value());
}

Status KeptRedo::ApplyRecords(PageId page, Bytes body, MutableBytes bytes, bool* readable) {
  while (!body.empty()) {
    if (body.size() < kRecordHeaderBytes) return Damaged();
    const Lsn group_end(LoadLe<uint64_t>(body.data()));
    const uint32_t record_bytes = LoadLe<uint32_t>(body.data() + 8);
    if (body.size() - kRecordHeaderBytes < record_bytes) return Damaged();
    const Bytes record = body.subspan(kRecordHeaderBytes, record_bytes);
    const RedoEntry* entry =
        FindRedo(static_cast<RecordType>(body[12]), std::to_integer<uint8_t>(body[13]));
    if (entry == nullptr) return Status(Code::kNewerFormat, "unknown redo record type or version");
    body = body.subspan(kRecordHeaderBytes + record_bytes);
    if (!*readable && entry->initialises_page) {
      std::memset(bytes.data(), 0, bytes.size());
      *readable = true;
    }
    if (!*readable || group_end <= PageLsnOf(bytes.data())) continue;
    const Status status = entry->apply(page, bytes, record);
    if (!status.ok()) return status;
    // Records of one group share its end: the next one of it must not look applied.
    const bool last =
        body.size() < kRecordHeaderBytes || Lsn(LoadLe<uint64_t>(body.data())) != group_end;
    if (last) SetPageLsn(bytes.data(), group_end);
  }
  return Status::Ok();
}

}  // namespace rowan
