// SPDX-License-Identifier: GPL-2.0-only
// Header, 4096 bytes, little-endian:
//   offset size
//   0      4      CRC-32C over bytes [4, 4096)
//   4      4      magic "RWPV"
//   8      4      format version, 2
//   12     4      CRC-32C of the instance id
//   16     8      number of slots
//   24     8      number of runs in the directory
//   32     4      CRC-32C of the directory
//   36     ...    zero
// Slots of 4096 bytes follow, by space and chunk number, then the directory: runs of 16 bytes:
//   offset size
//   0      4      space id
//   4      4      number of the first chunk
//   8      4      chunks, in neighbouring slots; the first run begins with the first slot
//   12     4      zero
//
// Slot, 4096 bytes:
//   offset size
//   0      4      CRC-32C over bytes [4, 4096)
//   4      4      magic "RWPV"
//   8      4      format version of the slot, 1
//   12     4      CRC-32C of the instance id
//   16     4      space id
//   20     4      chunk number: the first page is 508 x this
//   24     8      generation, 0; in the older form the largest of a chunk's slots counts
//   32     8*508  LSN of each page's last image at home, 0 = not known
#include "buffer/page/page_lsn_base.h"

#include <unordered_map>
#include <utility>

#include "base/crc32c.h"
#include "base/logging.h"

namespace rowan {
namespace {

constexpr uint32_t kBaseMagic = 0x56505752;  // "RWPV"
constexpr uint32_t kFileVersion = 2;
constexpr uint32_t kSlotVersion = 1;
constexpr size_t kBaseMagicOffset = 4;
constexpr size_t kBaseVersionOffset = 8;
constexpr size_t kBaseInstanceOffset = 12;
constexpr size_t kBaseSpaceOffset = 16;
constexpr size_t kChunkOffset = 20;
constexpr size_t kGenerationOffset = 24;
static_assert(kGenerationOffset + sizeof(uint64_t) == kPageLsnHeaderBytes);
static_assert(kPageLsnHeaderBytes + kPagesPerChunk * sizeof(uint64_t) == kPageLsnSlotBytes);
constexpr size_t kSlotsOffset = 16;
constexpr size_t kRunsOffset = 24;
constexpr size_t kDirectoryCrcOffset = 32;
constexpr size_t kRunBytes = 16;
/// Written and searched in pieces of this size.
constexpr size_t kBasePieceBytes = size_t{1} << 20;

enum class SlotState { kGood, kEmpty, kDamaged, kForeign, kNewer, kHeader };

bool IsSealed(Bytes slot) {
  return LoadLe<uint32_t>(slot.data()) == Crc32c(slot.subspan(kBaseMagicOffset)) &&
         LoadLe<uint32_t>(slot.data() + kBaseMagicOffset) == kBaseMagic;
}

SlotState StateOf(Bytes slot, uint32_t instance) {
  if (!IsSealed(slot)) {
    return IsAllZero(slot) ? SlotState::kEmpty : SlotState::kDamaged;
  }
  const uint32_t version = LoadLe<uint32_t>(slot.data() + kBaseVersionOffset);
  if (version > kFileVersion) return SlotState::kNewer;
  if (LoadLe<uint32_t>(slot.data() + kBaseInstanceOffset) != instance) return SlotState::kForeign;
  return version == kSlotVersion ? SlotState::kGood : SlotState::kHeader;
}

ChunkKey KeyIn(Bytes slot) {
  return {SpaceId(LoadLe<uint32_t>(slot.data() + kBaseSpaceOffset)),
          LoadLe<uint32_t>(slot.data() + kChunkOffset)};
}

void Seal(std::byte* block) {
  StoreLe<uint32_t>(block,
                    Crc32c({block + kBaseMagicOffset, kPageLsnSlotBytes - kBaseMagicOffset}));
}

}  // namespace

/// What a search found.
struct PageLsnBase::Seen {
  uint64_t damaged = 0;
  uint64_t first_damaged = 0;  ///< offset
  uint64_t foreign = 0;
};

Result<std::unique_ptr<PageLsnBase>> PageLsnBase::Open(std::unique_ptr<File> file,
                                                       uint32_t instance) {
  std::unique_ptr<PageLsnBase> base(new PageLsnBase(std::move(file), instance));
  switch (base->LoadDirectory()) {
    case Form::kDirectory: return base;
    case Form::kForeign:
      base->LogSeen({.foreign = 1});
      base->outdated_ = true;
      return base;
    case Form::kNewer:
      LogError("'{}' was written by a newer version of Rowan.", base->file_->path());
      return Status(Code::kNewerFormat, "the file of page LSNs has a newer format");
    case Form::kSearch: break;
  }
  base->outdated_ = true;
  const Status status = base->Search();
  if (!status.ok()) return status;
  return base;
}

PageLsnBase::Form PageLsnBase::LoadDirectory() {
  std::vector<std::byte> header(kPageLsnSlotBytes);
  if (!file_->Read(0, header).ok()) return Form::kSearch;
  const SlotState state = StateOf(header, instance_);
  if (state == SlotState::kNewer) return Form::kNewer;
  const bool whole = LoadLe<uint32_t>(header.data() + kBaseVersionOffset) == kFileVersion;
  if (state == SlotState::kForeign && whole) return Form::kForeign;
  if (state != SlotState::kHeader) return Form::kSearch;
  const uint64_t slots = LoadLe<uint64_t>(header.data() + kSlotsOffset);
  const uint64_t runs = LoadLe<uint64_t>(header.data() + kRunsOffset);
  if (slots >= kNowhere || runs > slots) return Form::kSearch;
  std::vector<std::byte> directory(runs * kRunBytes);
  if (!file_->Read((1 + slots) * kPageLsnSlotBytes, directory).ok()) return Form::kSearch;
  if (Crc32c(directory) != LoadLe<uint32_t>(header.data() + kDirectoryCrcOffset)) {
    return Form::kSearch;
  }
  uint32_t slot = 1;
  for (uint64_t i = 0; i < runs; ++i) {
    const std::byte* run = directory.data() + i * kRunBytes;
    const SpaceId space(LoadLe<uint32_t>(run));
    const uint32_t first = LoadLe<uint32_t>(run + 4);
    const uint32_t count = LoadLe<uint32_t>(run + 8);
    for (uint32_t j = 0; j < count; ++j) Place({space, first + j}, slot++);
  }
  return Form::kDirectory;
}

Status PageLsnBase::Search() {
  const Result<uint64_t> size = file_->Size();
  if (!size.ok()) return size.status();
  const uint64_t blocks = size.value() / kPageLsnSlotBytes;
  Seen seen;
  std::map<ChunkKey, uint64_t> generations;
  std::vector<std::byte> block(kPageLsnSlotBytes);
  for (uint64_t number = 0; number < blocks; ++number) {
    const Status status = file_->Read(number * kPageLsnSlotBytes, block);
    const SlotState state = status.ok() ? StateOf(block, instance_) : SlotState::kDamaged;
    if (state == SlotState::kNewer) {
      LogError("'{}' was written by a newer version of Rowan (format {}).", file_->path(),
               LoadLe<uint32_t>(block.data() + kBaseVersionOffset));
      return Status(Code::kNewerFormat, "the file of page LSNs has a newer format");
    }
    if (state == SlotState::kForeign) ++seen.foreign;
    if (state == SlotState::kDamaged && seen.damaged++ == 0) {
      seen.first_damaged = number * kPageLsnSlotBytes;
    }
    if (state != SlotState::kGood) continue;
    const uint64_t generation = LoadLe<uint64_t>(block.data() + kGenerationOffset);
    const auto [known, fresh] = generations.try_emplace(KeyIn(block), generation);
    if (!fresh && known->second >= generation) continue;
    known->second = generation;
    Place(KeyIn(block), static_cast<uint32_t>(number));
  }
  LogSeen(seen);
  return Status::Ok();
}

void PageLsnBase::LogSeen(const Seen& seen) const {
  if (seen.damaged != 0) {
    LogWarning(
        "'{}': {} blocks are damaged or were being written when the machine stopped, the "
        "first at offset {}. What was written there before is used: of some pages it may go "
        "unnoticed that they went back to an older state.",
        file_->path(), seen.damaged, seen.first_damaged);
  }
  if (seen.foreign != 0) {
    LogWarning("'{}': {} blocks belong to another instance and are ignored.", file_->path(),
               seen.foreign);
  }
}

void PageLsnBase::Place(ChunkKey key, uint32_t slot) {
  std::vector<uint32_t>& places = places_[key.space];
  if (places.size() <= key.number) places.resize(key.number + size_t{1}, kNowhere);
  if (places[key.number] == kNowhere) ++slots_;
  places[key.number] = slot;
}

std::optional<uint32_t> PageLsnBase::SlotOf(ChunkKey key) const {
  const auto found = places_.find(key.space);
  if (found == places_.end() || key.number >= found->second.size()) return std::nullopt;
  const uint32_t slot = found->second[key.number];
  return slot == kNowhere ? std::nullopt : std::optional(slot);
}

PageLsnBase::Found PageLsnBase::Read(ChunkKey key, ChunkLsns* lsns) const {
  lsns->fill(kNoLsn);
  const std::optional<uint32_t> slot = SlotOf(key);
  if (!slot.has_value()) return Found::kAbsent;
  std::vector<std::byte> block(kPageLsnSlotBytes);
  const uint64_t offset = uint64_t{*slot} * kPageLsnSlotBytes;
  const Status status = file_->Read(offset, block);
  if (!status.ok() || StateOf(block, instance_) != SlotState::kGood || KeyIn(block) != key) {
    LogWarning(
        "'{}': the block at offset {} {}: of some pages it may go unnoticed that they went "
        "back to an older state.",
        file_->path(), offset, status.ok() ? "is damaged" : "cannot be read");
    return Found::kDamaged;
  }
  for (uint32_t i = 0; i < kPagesPerChunk; ++i) {
    (*lsns)[i] = Lsn(LoadLe<uint64_t>(block.data() + kPageLsnHeaderBytes + i * sizeof(uint64_t)));
  }
  return Found::kGood;
}

std::vector<ChunkKey> PageLsnBase::KeysOf(SpaceId space) const {
  std::vector<ChunkKey> keys;
  const auto found = places_.find(space);
  if (found == places_.end()) return keys;
  for (uint32_t number = 0; number < found->second.size(); ++number) {
    if (found->second[number] != kNowhere) keys.push_back({space, number});
  }
  return keys;
}

std::vector<ChunkKey> PageLsnBase::Keys() const {
  std::vector<ChunkKey> keys;
  keys.reserve(slots_);
  for (const auto& [space, places] : places_) {
    for (const ChunkKey key : KeysOf(space)) keys.push_back(key);
  }
  return keys;
}

PageLsnBaseWriter::PageLsnBaseWriter(std::unique_ptr<File> file, uint32_t instance)
    : file_(std::move(file)), instance_(instance), buffer_(kPageLsnSlotBytes) {
  buffer_.reserve(kBasePieceBytes + kPageLsnSlotBytes);
}

Status PageLsnBaseWriter::WriteBuffer() {
  const Status status = file_->Write(WriteCause::kPageLsns, offset_, buffer_);
  offset_ += buffer_.size();
  buffer_.clear();
  return status;
}

Status PageLsnBaseWriter::Add(ChunkKey key, const ChunkLsns& lsns) {
  const bool joins = !runs_.empty() && runs_.back().first.space == key.space &&
                     runs_.back().first.number + runs_.back().count == key.number;
  if (!joins) runs_.push_back({.first = key});
  ++runs_.back().count;
  ++slots_;
  buffer_.resize(buffer_.size() + kPageLsnSlotBytes);
  std::byte* slot = buffer_.data() + buffer_.size() - kPageLsnSlotBytes;
  StoreLe<uint32_t>(slot + kBaseMagicOffset, kBaseMagic);
  StoreLe<uint32_t>(slot + kBaseVersionOffset, kSlotVersion);
  StoreLe<uint32_t>(slot + kBaseInstanceOffset, instance_);
  StoreLe<uint32_t>(slot + kBaseSpaceOffset, key.space.value());
  StoreLe<uint32_t>(slot + kChunkOffset, key.number);
  for (uint32_t i = 0; i < kPagesPerChunk; ++i) {
    StoreLe<uint64_t>(slot + kPageLsnHeaderBytes + i * sizeof(uint64_t), lsns[i].value());
  }
  Seal(slot);
  return buffer_.size() >= kBasePieceBytes ? WriteBuffer() : Status::Ok();
}

Status PageLsnBaseWriter::Finish() {
  const size_t begin = buffer_.size();
  buffer_.resize(begin + runs_.size() * kRunBytes);
  std::byte* run = buffer_.data() + begin;
  for (const Run& item : runs_) {
    StoreLe<uint32_t>(run, item.first.space.value());
    StoreLe<uint32_t>(run + 4, item.first.number);
    StoreLe<uint32_t>(run + 8, item.count);
    run += kRunBytes;
  }
  std::vector<std::byte> header(kPageLsnSlotBytes);
  StoreLe<uint32_t>(header.data() + kBaseMagicOffset, kBaseMagic);
  StoreLe<uint32_t>(header.data() + kBaseVersionOffset, kFileVersion);
  StoreLe<uint32_t>(header.data() + kBaseInstanceOffset, instance_);
  StoreLe<uint64_t>(header.data() + kSlotsOffset, slots_);
  StoreLe<uint64_t>(header.data() + kRunsOffset, runs_.size());
  StoreLe<uint32_t>(header.data() + kDirectoryCrcOffset, Crc32c(Bytes(buffer_).subspan(begin)));
  Seal(header.data());
  Status status = WriteBuffer();
  if (!status.ok()) return status;
  status = file_->Write(WriteCause::kPageLsns, 0, header);
  if (!status.ok()) return status;
  return file_->Sync(SyncMethod::kFsync);
}

}  // namespace rowan
