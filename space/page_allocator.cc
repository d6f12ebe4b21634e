// SPDX-License-Identifier: GPL-2.0-only
#include "space/page_allocator.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>

#include "base/assertions.h"
#include "base/format.h"
#include "base/logging.h"
#include "space/space_format.h"

namespace rowan {
namespace {

/// Pages of a new space's file: header, bitmap, two to start with and two in reserve
/// (space_free_map.h); at least 64 KiB.
uint32_t FirstFilePages(uint32_t page_size_bytes) {
  return std::max<uint32_t>(6, 65536 / page_size_bytes);
}

/// Group header plus the few short records that every function here logs.
constexpr uint32_t kLogBytesMax = 256;

/// Random bytes in the name of a file outside the instance folder.
constexpr size_t kRandomBytesInNames = 8;

/// As the space's header counts them.
Result<uint32_t> BitmapPagesOf(BufferPool* pool, SpaceId space, FixHint hint) {
  Result<PageGuard> header = pool->Fix({space, PageNumber(0)}, LatchMode::kShared, hint);
  if (!header.ok()) return header.status();
  return LoadLe<uint32_t>(header->page() + space_layout::kBitmapPagesOffset);
}

}  // namespace

std::shared_ptr<SpaceFreeMap> PageAllocator::FindMap(SpaceId space) {
  const SharedLock lock(&mutex_);
  const auto found = maps_.find(space);
  return found == maps_.end() ? nullptr : found->second;
}

std::shared_ptr<SpaceFreeMap> PageAllocator::MapOf(SpaceId space) {
  if (std::shared_ptr<SpaceFreeMap> found = FindMap(space)) return found;
  const ExclusiveLock lock(&mutex_);
  std::shared_ptr<SpaceFreeMap>& map = maps_[space];
  // Tables keep their space: they are refilled or rebuilt.
  const bool gives_back = space == kUndoSpace || space == kTemporaryUndoSpace;
  if (!map) map = std::make_shared<SpaceFreeMap>(pool_, space, gives_back);
  return map;
}

void PageAllocator::ForgetMap(SpaceId space) {
  const ExclusiveLock lock(&mutex_);
  maps_.erase(space);
}

PageReservation::PageReservation(PageReservation&& other) noexcept { *this = std::move(other); }

PageReservation& PageReservation::operator=(PageReservation&& other) noexcept {
  if (this != &other) {
    if (pages_ > 0) allocator_->ReturnReservation(space_, group_, pages_);
    allocator_ = std::exchange(other.allocator_, nullptr);
    space_ = other.space_;
    pages_ = std::exchange(other.pages_, 0u);
    group_ = other.group_;
  }
  return *this;
}

PageReservation::~PageReservation() {
  if (pages_ > 0) allocator_->ReturnReservation(space_, group_, pages_);
}

std::string PageAllocator::PlaceIn(const std::string& folder, SpaceId space) const {
  // Not from the instance's id: a restored backup and a copied folder have the same id, and may be
  // given the same directory.
  std::random_device source;
  std::string random;
  for (size_t i = 0; i < kRandomBytesInNames; ++i) random += Format("{:02x}", source() & 0xFF);
  return Format("{}/space_{}_{}.rws", folder, space.value(), random);
}

Status PageAllocator::CreateSpace(SpaceId space, const std::string& folder) {
  {
    const ExclusiveLock lock(&mutex_);
    being_created_.insert(space);
  }
  Status status = pool_->files()->Create(space, FirstFilePages(pool_->page_size_bytes()),
                                         folder.empty() ? folder : PlaceIn(folder, space));
  if (status.ok()) {
    ForgetMap(space);
    status = MakeFirstPages(space);
  }
  const ExclusiveLock lock(&mutex_);
  being_created_.erase(space);
  return status;
}

Status PageAllocator::MakeFirstPages(SpaceId space) {
  const uint32_t page_bytes = pool_->page_size_bytes();
  MiniTxn mini_txn(pool_);
  const Status status = mini_txn.Start(kLogBytesMax);
  if (!status.ok()) return status;
  const PageId header_id{space, PageNumber(0)};
  const PageId bitmap_id{space, BitmapPage(0, page_bytes)};
  Result<MutablePage> header = mini_txn.FixNew(header_id);
  if (!header.ok()) return header.status();
  Result<MutablePage> bitmap = mini_txn.FixNew(bitmap_id);
  if (!bitmap.ok()) return bitmap.status();
  std::byte* body = mini_txn.Log(RecordType::kSpaceInit, *header, instance_id_.size());
  std::memcpy(body, instance_id_.data(), instance_id_.size());
  InitSpaceHeader({header->bytes, page_bytes}, header_id, instance_id_);
  StoreLe<uint32_t>(mini_txn.Log(RecordType::kSpaceBitmapInit, *bitmap, 4), 0);
  InitBitmap({bitmap->bytes, page_bytes}, bitmap_id, 0);
  mini_txn.Commit();
  return Status::Ok();
}

Status PageAllocator::OpenSpace(SpaceId space) {
  if (!pool_->files()->IsLive(space)) {
    const Status status = pool_->files()->Open(space);
    if (!status.ok()) return status;
  }
  Result<PageGuard> header = pool_->Fix({space, PageNumber(0)}, LatchMode::kShared);
  if (!header.ok()) return header.status();
  const std::byte* page = header->page();
  const std::string path = pool_->files()->PathOf(space);
  const Status usable = CheckSpaceFormat({page, pool_->page_size_bytes()}, path);
  if (!usable.ok()) return usable;
  if (std::memcmp(page + space_layout::kInstanceOffset, instance_id_.data(), instance_id_.size()) !=
      0) {
    LogError("'{}' belongs to another Rowan instance.", path);
    return Status(Code::kInvalidArgument, "space belongs to another instance");
  }
  if (LoadLe<uint32_t>(page + space_layout::kPageSizeOffset) != pool_->page_size_bytes()) {
    LogError("'{}' has another page size than this instance.", path);
    return Status(Code::kCorrupt, "space has another page size", 0);
  }
  return Status::Ok();
}

Status PageAllocator::LogDrop(SpaceId space) {
  MiniTxn mini_txn(pool_);
  const Status status = mini_txn.Start(kLogBytesMax);
  if (!status.ok()) return status;
  mini_txn.LogPageless(RecordType::kSpaceDropped, space, 0);
  const Lsn end = mini_txn.Commit();
  return pool_->log()->WaitDurable(end);
}

Status PageAllocator::DropSpace(SpaceId space) {
  Status status = IsTemporary(space) ? Status::Ok() : LogDrop(space);
  if (!status.ok()) return status;
  const Result<uint32_t> pages = pool_->files()->PageCount(space);
  status = pool_->files()->Drop(space);
  if (!status.ok()) return status;
  pool_->ForgetSpace(space, pages.ok() ? pages.value() : UINT32_MAX);
  ForgetMap(space);
  return Status::Ok();
}

Status PageAllocator::SetAsideSpace(SpaceId space, const std::string& path) {
  const Status status = pool_->files()->SetAside(space, path);
  if (!status.ok()) return status;
  pool_->ForgetSpace(space);
  ForgetMap(space);
  return status;
}

Result<PageReservation> PageAllocator::Reserve(SpaceId space, uint32_t pages, PageUse use) {
  Result<uint32_t> group = MapOf(space)->Reserve(pages, use);
  if (!group.ok()) return group.status();
  return PageReservation(this, space, pages, *group);
}

void PageAllocator::ReturnReservation(SpaceId space, uint32_t group, uint32_t pages) {
  const std::shared_ptr<SpaceFreeMap> map = FindMap(space);
  if (map != nullptr) map->Return(group, pages);  // else just dropped
}

namespace {

struct BitRange {
  uint32_t first;
  uint32_t last;
  bool any_withheld;
};

/// First clear bit in [first, last) of an extent that is not withheld.
std::optional<uint32_t> FirstUsable(Bytes bitmap, uint32_t group, SpaceFreeMap* map,
                                    BitRange range) {
  std::optional<uint32_t> bit = FirstClear(bitmap, range.first, range.last);
  while (bit.has_value() && range.any_withheld && map->IsWithheld(group, *bit)) {
    const uint32_t extent = ExtentPages(bitmap.size());
    bit = FirstClear(bitmap, (*bit / extent + 1) * extent, range.last);
  }
  return bit;
}

/// Likewise for the first wholly clear extent.
std::optional<uint32_t> FirstUsableExtent(Bytes bitmap, uint32_t group, SpaceFreeMap* map,
                                          BitRange range) {
  std::optional<uint32_t> bit = FirstClearExtent(bitmap, range.first, range.last);
  while (bit.has_value() && range.any_withheld && map->IsWithheld(group, *bit)) {
    bit = FirstClearExtent(bitmap, *bit + ExtentPages(bitmap.size()), range.last);
  }
  return bit;
}

/// Chooses a clear bit: next to `near`, else the start of an unused extent, else anywhere.
std::optional<uint32_t> ChooseBit(Bytes bitmap, uint32_t group, std::optional<uint32_t> near,
                                  SpaceFreeMap* map) {
  const SpaceFreeMap::SearchHints hints = map->Hints(group);
  const uint32_t extent = ExtentPages(bitmap.size());
  if (near.has_value()) {
    const uint32_t begin = *near / extent * extent;
    const uint32_t end = std::min(begin + extent, hints.limit);
    std::optional<uint32_t> bit = FirstUsable(bitmap, group, map, {*near, end, hints.any_withheld});
    if (!bit.has_value()) {
      bit = FirstUsable(bitmap, group, map, {begin, end, hints.any_withheld});
    }
    if (bit.has_value()) return bit;
  }
  if (near.has_value() && hints.limit > 2 * extent) {
    const std::optional<uint32_t> bit =
        FirstUsableExtent(bitmap, group, map, {hints.extent, hints.limit, hints.any_withheld});
    map->NoExtentBelow(group, bit.has_value() ? *bit + 1 : hints.limit / extent * extent);
    if (bit.has_value()) return bit;
  }
  std::optional<uint32_t> bit =
      FirstUsable(bitmap, group, map, {hints.first_clear, hints.limit, hints.any_withheld});
  if (!bit.has_value()) {
    bit = FirstUsable(bitmap, group, map, {0, hints.limit, hints.any_withheld});
  }
  return bit;
}

/// The bitmap page, held already or latched now.
Result<MutablePage> LatchBitmap(MiniTxn* mini_txn, PageId id) {
  const MutablePage held = mini_txn->FindHeld(id);
  if (held.valid()) return held;
  return mini_txn->Fix(id);
}

void LogBit(MiniTxn* mini_txn, const MutablePage& bitmap, RecordType type, uint32_t bit) {
  std::byte* body = mini_txn->Log(type, bitmap, 8);
  StoreLe<uint32_t>(body, bit);
  StoreLe<uint32_t>(body + 4, 1);
}

}  // namespace

Result<PageNumber> PageAllocator::Allocate(MiniTxn* mini_txn, PageReservation* reservation,
                                           PageNumber near) {
  ROWAN_CHECK(reservation->allocator_ == this && reservation->pages_ > 0);
  const uint32_t page_bytes = pool_->page_size_bytes();
  const uint32_t group = reservation->group_;
  const std::shared_ptr<SpaceFreeMap> map = MapOf(reservation->space_);
  Result<MutablePage> bitmap =
      LatchBitmap(mini_txn, {reservation->space_, BitmapPage(group, page_bytes)});
  if (!bitmap.ok()) return bitmap.status();
  const uint32_t group_pages = GroupPages(page_bytes);
  std::optional<uint32_t> near_bit;
  if (near != kNoPage && near.value() / group_pages == group) {
    near_bit = near.value() % group_pages;
  }
  const MutableBytes page(bitmap->bytes, page_bytes);
  const std::optional<uint32_t> bit = ChooseBit(page, group, near_bit, map.get());
  if (!bit.has_value()) {
    return pool_->ReportDamage(bitmap->id, "it promises free pages that it does not have");
  }
  ROWAN_DCHECK(!BitmapTest(page, *bit) && *bit != 1);
  ROWAN_DCHECK(*bit < GroupPages(page_bytes));
  LogBit(mini_txn, *bitmap, RecordType::kSpaceSetBits, *bit);
  BitmapSet(page, *bit, true);
  map->Taken(group, *bit, true);
  --reservation->pages_;
  ROWAN_DCHECK(BitmapTest(page, *bit));
  return PageNumber(group * group_pages + *bit);
}

Result<MutablePage> PageAllocator::AllocateNew(MiniTxn* mini_txn, PageReservation* reservation,
                                               PageNumber near) {
  Result<PageNumber> number = Allocate(mini_txn, reservation, near);
  if (!number.ok()) return number.status();
  const PageId id{reservation->space_, *number};
  Result<MutablePage> page = mini_txn->FixNew(id);
  if (!page.ok()) Free(mini_txn, id).Ignore();  // its bitmap page is held: cannot fail
  return page;
}

Status PageAllocator::Free(MiniTxn* mini_txn, PageId id) {
  const uint32_t page_bytes = pool_->page_size_bytes();
  const uint32_t group = id.page.value() / GroupPages(page_bytes);
  const uint32_t bit = id.page.value() % GroupPages(page_bytes);
  Result<MutablePage> bitmap = LatchBitmap(mini_txn, {id.space, BitmapPage(group, page_bytes)});
  if (!bitmap.ok()) return bitmap.status();
  const MutableBytes page(bitmap->bytes, page_bytes);
  const bool ours = bit == 1 || id.page == kNoPage;  // header and bitmap pages are never freed
  if (ours || !BitmapTest(page, bit)) {
    return pool_->ReportDamage(id, "it is freed but was not in use");
  }
  ROWAN_DCHECK(BitmapTest(page, bit) && bit != 1);
  LogBit(mini_txn, *bitmap, RecordType::kSpaceClearBits, bit);
  BitmapSet(page, bit, false);
  MapOf(id.space)->Freed(group, bit);
  return Status::Ok();
}

Result<uint64_t> PageAllocator::ReadCounter(SpaceId space) {
  Result<PageGuard> header = pool_->Fix({space, PageNumber(0)}, LatchMode::kShared);
  if (!header.ok()) return header.status();
  return LoadLe<uint64_t>(header->page() + space_layout::kCounterOffset);
}

Status PageAllocator::WriteCounter(SpaceId space, uint64_t value) {
  return WriteHeader(space, space_layout::kCounterOffset, sizeof(value),
                     [value](std::byte* field) { StoreLe<uint64_t>(field, value); });
}

Status PageAllocator::UseFeatures(SpaceId space, const FormatFeatures& features) {
  return WriteHeader(space, space_layout::kFeaturesOffset, kFormatFeaturesBytes,
                     [&features](std::byte* field) {
                       FormatFeatures all = LoadFeatures(field);
                       all.Set(features, true);
                       StoreFeatures(field, all);
                     });
}

Status PageAllocator::WriteHeader(SpaceId space, size_t offset, size_t size,
                                  FunctionRef<void(std::byte* field)> change) {
  MiniTxn mini_txn(pool_);
  const Status status = mini_txn.Start(kLogBytesMax);
  if (!status.ok()) return status;
  Result<MutablePage> header = mini_txn.Fix({space, PageNumber(0)});
  if (!header.ok()) return header.status();
  change(header->bytes + offset);
  std::byte* body = mini_txn.Log(RecordType::kSpaceHeader, *header, 2 + size);
  StoreLe<uint16_t>(body, static_cast<uint16_t>(offset));
  std::memcpy(body + 2, header->bytes + offset, size);
  mini_txn.Commit();
  return Status::Ok();
}

Result<SpaceStatistics> PageAllocator::Statistics(SpaceId space) {
  SpaceStatistics statistics;
  const Status status = MapOf(space)->Counts(&statistics.file_pages, &statistics.used_pages);
  if (!status.ok()) return status;
  return statistics;
}

Result<uint32_t> PageAllocator::GiveBack(SpaceId space, uint32_t keep_pages, uint32_t extents_max) {
  return MapOf(space)->GiveBack(keep_pages, extents_max);
}

Result<PageGuard> PageAllocator::FixBitmapOf(PageId id, FixHint hint) {
  const uint32_t page_bytes = pool_->page_size_bytes();
  const uint32_t group = id.page.value() / GroupPages(page_bytes);
  const PageId bitmap_id{id.space, BitmapPage(group, page_bytes)};
  Result<PageGuard> bitmap = pool_->Fix(bitmap_id, LatchMode::kShared, hint);
  if (bitmap.ok() && PageTypeOf(bitmap->page()) != PageType::kSpaceBitmap) {
    if (IsSpeculative(hint)) return Status(Code::kCorrupt);
    return pool_->ReportDamage(bitmap_id, "it is not the bitmap page that belongs here");
  }
  return bitmap;
}

bool PageAllocator::IsSetIn(const PageGuard& bitmap, PageId id) const {
  const uint32_t page_bytes = pool_->page_size_bytes();
  return BitmapTest({bitmap.page(), page_bytes}, id.page.value() % GroupPages(page_bytes));
}

Result<bool> PageAllocator::IsAllocated(PageId id, FixHint hint) {
  Result<PageGuard> bitmap = FixBitmapOf(id, hint);
  if (!bitmap.ok()) return bitmap.status();
  return IsSetIn(*bitmap, id);
}

Result<uint32_t> PageAllocator::PagesWithBits(SpaceId space) {
  {
    const SharedLock lock(&mutex_);
    if (being_created_.contains(space)) return 0u;
  }
  const Result<uint32_t> groups = BitmapPagesOf(pool_, space, FixHint::kSpeculativeScan);
  if (!groups.ok()) return groups.status();
  const uint64_t pages = uint64_t{groups.value()} * GroupPages(pool_->page_size_bytes());
  return static_cast<uint32_t>(std::min<uint64_t>(pages, UINT32_MAX));
}

Result<PageGuard> PageAllocator::FixInUse(PageId id, LatchMode mode) {
  const bool scans = mode == LatchMode::kShared;
  const FixHint hint = scans ? FixHint::kSpeculativeScan : FixHint::kSpeculative;
  for (;;) {
    // Asked first: what is free need not even be readable.
    const Result<bool> allocated = IsAllocated(id);
    if (!allocated.ok()) return allocated.status();
    if (!allocated.value()) return Status(Code::kNotFound, "the page is free");
    OptimisticPage found;
    const bool is_read = pool_->FixOptimistic(id, hint, &found).ok();
    Result<PageGuard> page = FixUnderBitmap(id, mode, is_read ? &found : nullptr);
    if (!page.status().Is(Code::kRestart)) return page;
    // Waits for who changes it, which must not be done with the bitmap page latched: who allocates
    // has that one and then waits for the page.
    pool_->Fix(id, LatchMode::kShared, hint).status().Ignore();
    std::this_thread::yield();  // to who reads it
  }
}

Result<PageGuard> PageAllocator::FixUnderBitmap(PageId id, LatchMode mode,
                                                const OptimisticPage* found) {
  Result<PageGuard> bitmap = FixBitmapOf(id);
  if (!bitmap.ok()) return bitmap.status();
  const bool is_bitmap = bitmap->id() == id;  // nobody's to change: where a damaged reference led
  if (!IsSetIn(*bitmap, id) || (is_bitmap && mode == LatchMode::kExclusive)) {
    return Status(Code::kNotFound, "the page is free");
  }
  if (found == nullptr) {
    const Status read = pool_->FixAbsent(id, FixHint::kScan).status();
    return read.ok() ? Status(Code::kRestart) : read;
  }
  PageLatch& latch = found->frame->latch;
  const bool latched = mode == LatchMode::kShared ? latch.TryShareFromOptimistic(found->version)
                                                  : latch.TryUpgradeFromOptimistic(found->version);
  if (!latched) return Status(Code::kRestart);
  return PageGuard(found->frame, const_cast<std::byte*>(found->page), mode);
}

Result<uint32_t> PageAllocator::CheckSpace(SpaceId space, std::vector<uint64_t>* allocated) {
  const Status opened = OpenSpace(space);
  if (!opened.ok()) return opened;
  const uint32_t page_bytes = pool_->page_size_bytes();
  const Result<uint32_t> bitmap_pages = BitmapPagesOf(pool_, space, FixHint::kNormal);
  if (!bitmap_pages.ok()) return bitmap_pages.status();
  uint32_t used = 0;
  for (uint32_t group = 0; group < bitmap_pages.value(); ++group) {
    const PageId id{space, BitmapPage(group, page_bytes)};
    Result<PageGuard> guard = pool_->Fix(id, LatchMode::kShared);
    if (!guard.ok()) return guard.status();
    const Bytes page(guard->page(), page_bytes);
    const bool good = PageTypeOf(page.data()) == PageType::kSpaceBitmap &&
                      LoadLe<uint32_t>(page.data() + space_layout::kGroupOffset) == group &&
                      BitmapTest(page, 1) && (group != 0 || BitmapTest(page, 0));
    if (!good) {
      return pool_->ReportDamage(id, "it is not the bitmap page that belongs here");
    }
    used += BitmapCount(page, GroupPages(page_bytes));
    if (allocated != nullptr) BitmapAppend(page, allocated);
  }
  return used;
}

}  // namespace rowan
