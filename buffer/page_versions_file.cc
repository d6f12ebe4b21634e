// SPDX-License-Identifier: GPL-2.0-only
// The file behind PageVersions: an array of pairs of slots, each pair for one chunk.
//
// Slot, 4096 bytes, little-endian; a slot of zeros was never written:
//   offset size
//   0      4      CRC-32C over bytes [4, 4096)
//   4      4      magic "RWPV"
//   8      4      format version, 1
//   12     4      CRC-32C of the instance id
//   16     4      space id
//   20     4      chunk number: the first page is 508 x this
//   24     8      generation: the checkpoint that wrote it; larger = newer
//   32     8*508  LSN of each page's last image at home, 0 = not known
#include <algorithm>
#include <unordered_set>
#include <utility>

#include "base/counters.h"
#include "base/crc32c.h"
#include "base/logging.h"
#include "buffer/page_versions.h"

namespace rowan {
namespace {

constexpr uint32_t kMagic = 0x56505752;  // "RWPV"
constexpr uint32_t kVersionsVersion = 1;
constexpr size_t kMagicOffset = 4;
constexpr size_t kVersionOffset = 8;
constexpr size_t kInstanceOffset = 12;
constexpr size_t kSpaceOffset = 16;
constexpr size_t kChunkOffset = 20;
constexpr size_t kGenerationOffset = 24;
static_assert(kGenerationOffset + sizeof(uint64_t) == kVersionsHeaderBytes);
static_assert(kVersionsHeaderBytes + kPagesPerChunk * sizeof(uint64_t) == kVersionsSlotBytes);

constexpr size_t kPairBytes = 2 * kVersionsSlotBytes;
/// The file grows by this many pairs, or by an eighth: extending it costs the sync a journal
/// commit.
constexpr uint32_t kGrowthPairsMin = 16;
/// Pairs read at a time by Load.
constexpr uint32_t kLoadPairs = 128;

uint64_t OffsetOf(uint32_t pair, uint32_t slot) {
  return uint64_t{pair} * kPairBytes + slot * kVersionsSlotBytes;
}

/// As PageVersions::KeyOf.
uint64_t KeyIn(Bytes slot) {
  return (uint64_t{LoadLe<uint32_t>(slot.data() + kSpaceOffset)} << 32) |
         LoadLe<uint32_t>(slot.data() + kChunkOffset);
}

uint64_t GenerationIn(Bytes slot) { return LoadLe<uint64_t>(slot.data() + kGenerationOffset); }

enum class SlotState { kGood, kEmpty, kDamaged, kForeign, kNewer };

SlotState StateOf(Bytes slot, uint32_t instance) {
  if (LoadLe<uint32_t>(slot.data()) != Crc32c(slot.subspan(kMagicOffset)) ||
      LoadLe<uint32_t>(slot.data() + kMagicOffset) != kMagic) {
    const bool zero =
        std::all_of(slot.begin(), slot.end(), [](std::byte byte) { return byte == std::byte{0}; });
    return zero ? SlotState::kEmpty : SlotState::kDamaged;
  }
  if (LoadLe<uint32_t>(slot.data() + kVersionOffset) > kVersionsVersion) return SlotState::kNewer;
  const bool ours = LoadLe<uint32_t>(slot.data() + kInstanceOffset) == instance;
  return ours ? SlotState::kGood : SlotState::kForeign;
}

}  // namespace

/// What Load found besides chunks.
struct PageVersions::Loading {
  std::unordered_set<SpaceId> spaces;  ///< with a file
  uint64_t damaged = 0;
  uint64_t first_damaged = 0;  ///< offset
  uint64_t foreign = 0;
};

Status PageVersions::Open(const Origin& origin) {
  origin_ = origin;
  const std::string path = files_->folder() + "/" + kVersionsFileName;
  const Result<bool> exists = file_system_->Exists(path);
  if (!exists.ok()) return exists.status();
  Result<std::unique_ptr<File>> opened = file_system_->Open(path, {.create = true});
  if (!opened.ok()) return opened.status();
  std::lock_guard guard(file_mutex_);
  file_ = std::move(opened).value();
  if (!exists.value()) {
    if (origin.expected) {
      LogWarning("'{}' is missing and begins anew: pages that went back to an older state before "
                 "this start are not noticed.", path);
    }
    return file_system_->SyncDirectory(files_->folder());
  }
  const Status status = Load();
  return status.ok() ? RewriteNewest() : status;
}

Status PageVersions::RewriteNewest() {
  // The next writes take the other slots, so these must be durable. A process that died may not
  // have synced those of its last checkpoint; after a sync that failed, only what is written again
  // reaches the disk. Earlier ones were synced: a failure ends the process's checkpoints.
  std::vector<std::byte> slot(kVersionsSlotBytes);
  for (const auto& [key, place] : places_) {
    if (place.generation != last_generation_) continue;
    const uint64_t offset = OffsetOf(place.pair, place.slot);
    Status status = file_->Read(offset, slot);
    if (status.ok()) status = file_->Write(offset, slot);
    if (!status.ok()) return status;
  }
  return file_->Sync(SyncMethod::kFdatasync);
}

Status PageVersions::Load() {
  Loading loading;
  const Result<std::vector<SpaceId>> spaces = files_->ListFiles();
  if (!spaces.ok()) return spaces.status();
  loading.spaces.insert(spaces.value().begin(), spaces.value().end());
  const Result<uint64_t> size = file_->Size();
  if (!size.ok()) return size.status();
  pairs_ = static_cast<uint32_t>(size.value() / kPairBytes);
  std::vector<std::byte> buffer(kLoadPairs * kPairBytes);
  for (uint32_t pair = 0; pair < pairs_; ++pair) {
    const uint32_t position = pair % kLoadPairs;
    if (position == 0) {
      const uint32_t count = std::min(kLoadPairs, pairs_ - pair);
      const Status status = file_->Read(OffsetOf(pair, 0), {buffer.data(), count * kPairBytes});
      if (!status.ok()) {
        LogError("'{}' cannot be read: {}. It only serves to notice lost writes: without the file "
                 "the instance opens as well.", file_->path(), status.message());
        return status;
      }
    }
    const Status status =
        LoadPair({buffer.data() + position * kPairBytes, kPairBytes}, pair, &loading);
    if (!status.ok()) return status;
  }
  LogLoaded(loading);
  return Status::Ok();
}

Status PageVersions::LoadPair(Bytes slots, uint32_t pair, Loading* loading) {
  Bytes newest;
  Place place{.pair = pair};
  for (uint32_t i = 0; i < 2; ++i) {
    const Bytes slot = slots.subspan(i * kVersionsSlotBytes, kVersionsSlotBytes);
    const SlotState state = StateOf(slot, origin_.instance);
    if (state == SlotState::kNewer) {
      LogError("'{}' was written by a newer version of Rowan (format {}).", file_->path(),
               LoadLe<uint32_t>(slot.data() + kVersionOffset));
      return Status(Code::kNewerFormat, "the file of page versions has a newer format");
    }
    if (state == SlotState::kForeign) ++loading->foreign;
    if (state == SlotState::kDamaged && loading->damaged++ == 0) {
      loading->first_damaged = OffsetOf(pair, i);
    }
    if (state != SlotState::kGood) continue;
    last_generation_ = std::max(last_generation_, GenerationIn(slot));
    if (newest.empty() || GenerationIn(slot) > place.generation) {
      newest = slot;
      place.slot = i;
      place.generation = GenerationIn(slot);
    }
  }
  if (newest.empty() || !loading->spaces.contains(SpaceOf(KeyIn(newest)))) {
    free_pairs_.push_back(pair);
  } else {
    Adopt(KeyIn(newest), newest, place);
  }
  return Status::Ok();
}

void PageVersions::Adopt(uint64_t key, Bytes slot, const Place& place) {
  const auto [found, fresh] = places_.try_emplace(key, place);
  if (!fresh) {
    // A pair given to another chunk, whose only slot then rotted: what is left is from before.
    const bool newer = place.generation > found->second.generation;
    free_pairs_.push_back(newer ? found->second.pair : place.pair);
    if (!newer) return;
    found->second = place;
  }
  std::unique_lock lock(mutex_);
  Chunk* chunk = FindOrCreate(SpaceOf(key), NumberOf(key));
  for (uint32_t i = 0; i < kPagesPerChunk; ++i) {
    const std::byte* entry = slot.data() + kVersionsHeaderBytes + i * sizeof(uint64_t);
    chunk->lsns[i].store(LoadLe<uint64_t>(entry), std::memory_order_relaxed);
  }
}

void PageVersions::LogLoaded(const Loading& loading) const {
  if (loading.damaged != 0) {
    LogWarning("'{}': {} blocks are damaged or were being written when the machine stopped, the "
               "first at offset {}. What was written there before is used: of some pages it may go "
               "unnoticed that they went back to an older state.",
               file_->path(), loading.damaged, loading.first_damaged);
  }
  if (loading.foreign != 0) {
    LogWarning("'{}': {} blocks belong to another instance and are ignored.", file_->path(),
               loading.foreign);
  }
}

Result<PageVersions::Place*> PageVersions::PlaceOf(uint64_t key) {
  const auto found = places_.find(key);
  if (found != places_.end()) return &found->second;
  if (free_pairs_.empty()) {
    const uint32_t count = std::max(kGrowthPairsMin, pairs_ / 8);
    const Status status = file_->Allocate(OffsetOf(pairs_, 0), count * kPairBytes);
    if (!status.ok()) return status;
    for (uint32_t i = count; i > 0; --i) free_pairs_.push_back(pairs_ + i - 1);
    pairs_ += count;
  }
  const Place place{.pair = free_pairs_.back(), .slot = 1};
  free_pairs_.pop_back();
  return &places_.emplace(key, place).first->second;
}

Status PageVersions::WriteSlot(uint64_t key, std::byte* slot) {
  const SpaceId space = SpaceOf(key);
  const uint32_t number = NumberOf(key);
  {
    std::shared_lock lock(mutex_);
    if (Find(space, number) == nullptr) return Status::Ok();  // forgotten since the copy
  }
  Result<Place*> place = PlaceOf(key);
  if (place.status().Is(Code::kNoSpace)) {
    if (!full_logged_) {
      LogWarning("The disk is too full for '{}' to grow: of some pages it may go unnoticed that "
                 "they went back to an older state.", file_->path());
    }
    full_logged_ = true;
    std::shared_lock lock(mutex_);
    Chunk* chunk = Find(space, number);
    if (chunk != nullptr) MarkChanged(key, chunk);
    return Status::Ok();
  }
  if (!place.ok()) return place.status();
  StoreLe<uint32_t>(slot + kMagicOffset, kMagic);
  StoreLe<uint32_t>(slot + kVersionOffset, kVersionsVersion);
  StoreLe<uint32_t>(slot + kInstanceOffset, origin_.instance);
  StoreLe<uint32_t>(slot + kSpaceOffset, space.value());
  StoreLe<uint32_t>(slot + kChunkOffset, number);
  StoreLe<uint64_t>(slot + kGenerationOffset, last_generation_);
  StoreLe<uint32_t>(slot, Crc32c({slot + kMagicOffset, kVersionsSlotBytes - kMagicOffset}));
  Place* where = place.value();
  where->slot = 1 - where->slot;
  where->generation = last_generation_;
  AddCounter(Counter::kPageVersionsBytes, kVersionsSlotBytes);
  return file_->Write(OffsetOf(where->pair, where->slot), {slot, kVersionsSlotBytes});
}

Status PageVersions::Write(Copies copies) {
  if (copies.chunks.empty()) return Status::Ok();
  std::lock_guard guard(file_mutex_);
  ++last_generation_;
  for (size_t i = 0; i < copies.chunks.size(); ++i) {
    const Status status =
        WriteSlot(copies.chunks[i], copies.slots.data() + i * kVersionsSlotBytes);
    if (!status.ok()) return status;
  }
  return file_->Sync(SyncMethod::kFdatasync);
}

Result<uint32_t> PageVersions::Check(SpaceId space) {
  std::lock_guard guard(file_mutex_);
  std::vector<std::byte> slot(kVersionsSlotBytes);
  uint32_t damaged = 0;
  for (auto found = places_.lower_bound(KeyOf(space, 0));
       found != places_.end() && SpaceOf(found->first) == space; ++found) {
    const auto& [key, place] = *found;
    const uint64_t offset = OffsetOf(place.pair, place.slot);
    const Status status = file_->Read(offset, slot);
    if (!status.ok()) return status;
    if (StateOf(slot, origin_.instance) == SlotState::kGood && KeyIn(slot) == key &&
        GenerationIn(slot) == place.generation) {
      continue;
    }
    ++damaged;
    LogWarning("'{}': the block at offset {} is damaged; the next checkpoint writes it anew.",
               file_->path(), offset);
    std::shared_lock lock(mutex_);
    Chunk* chunk = Find(space, NumberOf(key));
    if (chunk != nullptr) MarkChanged(key, chunk);
  }
  return damaged;
}

}  // namespace rowan
