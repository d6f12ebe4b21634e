// SPDX-License-Identifier: GPL-2.0-only
// The map in memory: noting, looking up, forgetting, and what a checkpoint takes from it. The files
// are in page_lsns_file.cc. See page_lsns.h.
#include "buffer/page/page_lsns.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/atomic_max.h"

namespace rowan {
namespace {

ChunkKey ChunkKeyOf(PageId id) { return {id.space, id.page.value() / kPagesPerChunk}; }

}  // namespace

PageLsns::PageLsns(FileSystem* file_system, SpaceFiles* files)
    : file_system_(file_system), files_(files), on_disk_(std::make_shared<OnDisk>()) {}

void PageLsns::ListChanged(ChunkKey key) {
  const MutexLock guard(&changed_mutex_);
  changed_.push_back(key);
}

void PageLsns::MarkChanged(ChunkKey key, PageLsnChunk* chunk, uint32_t page) {
  const uint64_t bit = uint64_t{1} << (page % 64);
  chunk->noted_pages[page / 64].fetch_or(bit, std::memory_order_relaxed);
  // The page before the chunk: a thread that clears the chunk's mark finds the page's.
  chunk->changed_pages[page / 64].fetch_or(bit, std::memory_order_acq_rel);
  if (!chunk->changed.exchange(true, std::memory_order_acq_rel)) ListChanged(key);
}

void PageLsns::Note(PageId id, Lsn lsn) {
  const ChunkKey key = ChunkKeyOf(id);
  const uint32_t page = id.page.value() % kPagesPerChunk;
  const auto store = [&](PageLsnChunk* chunk) {
    // Before the mark: a copy that clears the mark has this LSN.
    chunk->lsns[page].store(lsn, std::memory_order_relaxed);
    chunk->used.store(true, std::memory_order_relaxed);
    MarkChanged(key, chunk, page);
  };
  {
    const SharedLock lock(&mutex_);
    if (PageLsnChunk* found = chunks_.Find(key)) return store(found);
  }
  const ExclusiveLock lock(&mutex_);
  // A write that ends after the drop of its space: Forget has run or is still to come.
  if (files_->IsLive(id.space)) store(chunks_.FindOrCreate(key));
}

Lsn PageLsns::Expected(PageId id) const {
  {
    const SharedLock lock(&mutex_);
    PageLsnChunk* chunk = chunks_.Find(ChunkKeyOf(id));
    if (chunk != nullptr && chunk->loaded.load(std::memory_order_acquire)) {
      chunk->used.store(true, std::memory_order_relaxed);
      return chunk->lsns[id.page.value() % kPagesPerChunk].load(std::memory_order_relaxed);
    }
  }
  return LoadAndLook(id);
}

Lsn PageLsns::LoadAndLook(PageId id) const {
  for (;;) {
    std::shared_ptr<const OnDisk> on_disk;
    {
      const SharedLock lock(&mutex_);
      on_disk = on_disk_;
    }
    Lsn lsn;
    if (TryLoad(id, on_disk, &lsn)) return lsn;
  }
}

bool PageLsns::TryLoad(PageId id, const std::shared_ptr<const OnDisk>& on_disk, Lsn* lsn) const {
  const ChunkKey key = ChunkKeyOf(id);
  PageLsnChunk found;
  Merge(&found, key, *on_disk);  // without a lock
  const ExclusiveLock lock(&mutex_);
  // What a fold has put into the base is no longer kept: the former base may lack it.
  if (on_disk != on_disk_) return false;
  *lsn = kNoLsn;
  if (!files_->IsLive(id.space)) return true;
  chunks_.AddKept(key, &found);
  PageLsnChunk* chunk = chunks_.FindOrCreate(key);
  for (uint32_t page = 0; page < kPagesPerChunk; ++page) {
    RaiseTo(&chunk->lsns[page], found.lsns[page].load(std::memory_order_relaxed));
  }
  chunk->loaded.store(true, std::memory_order_release);
  *lsn = chunk->lsns[id.page.value() % kPagesPerChunk].load(std::memory_order_relaxed);
  return true;
}

void PageLsns::Merge(PageLsnChunk* chunk, ChunkKey key, const OnDisk& on_disk) {
  ChunkLsns lsns{};
  if (on_disk.base != nullptr) (void)on_disk.base->Read(key, &lsns);  // damage is logged there
  for (uint32_t page = 0; page < kPagesPerChunk; ++page) RaiseTo(&chunk->lsns[page], lsns[page]);
  const PageId first{key.space, PageNumber(key.number * kPagesPerChunk)};
  auto entry = std::lower_bound(
      on_disk.recent.begin(), on_disk.recent.end(), first.Packed(),
      [](const PageLsnEntry& version, uint64_t page) { return version.page < page; });
  for (; entry != on_disk.recent.end() && ChunkKeyOf(PageId::Unpack(entry->page)) == key; ++entry) {
    RaiseTo(&chunk->lsns[PageId::Unpack(entry->page).page.value() % kPagesPerChunk], entry->lsn);
  }
}

bool PageLsns::IsStale(PageId id, Lsn lsn) const {
  return lsn < Expected(id) && lsn < redo_from_.load(std::memory_order_relaxed);
}

void PageLsns::Forget(SpaceId space) {
  const ExclusiveLock lock(&mutex_);
  chunks_.Forget(space);
}

void PageLsns::CopyChunk(ChunkKey key, PageLsnChunk* chunk, Copies* copies) {
  // An exchange, not a store: it sees the pages of threads that found the mark still set.
  (void)chunk->changed.exchange(false, std::memory_order_acq_rel);
  for (uint32_t word = 0; word < chunk->changed_pages.size(); ++word) {
    uint64_t pages = chunk->changed_pages[word].exchange(0, std::memory_order_acq_rel);
    if (pages != 0) chunk->journal.store(kJournalUnderWay, std::memory_order_relaxed);
    for (; pages != 0; pages &= pages - 1) {
      const uint32_t page = word * 64 + static_cast<uint32_t>(std::countr_zero(pages));
      const PageId id{key.space, PageNumber(key.number * kPagesPerChunk + page)};
      copies->push_back({id.Packed(), chunk->lsns[page].load(std::memory_order_relaxed)});
    }
  }
}

PageLsns::Copies PageLsns::CopyChanged() {
  std::vector<ChunkKey> changed;
  {
    const MutexLock guard(&changed_mutex_);
    changed.swap(changed_);
  }
  Copies copies;
  std::vector<ChunkKey> kept;  // in part at least: the chunk was evicted since
  {
    const SharedLock lock(&mutex_);
    for (const ChunkKey key : changed) {
      if (PageLsnChunk* chunk = chunks_.Find(key)) CopyChunk(key, chunk, &copies);
      if (chunks_.HasKeptChanges(key)) kept.push_back(key);
    }
  }
  if (kept.empty()) return copies;
  const ExclusiveLock lock(&mutex_);
  for (const ChunkKey key : kept) chunks_.TakeKeptChanges(key, &copies);
  return copies;
}

void PageLsns::SetMemoryMax(const MemoryMax& most) {
  journal_bytes_max_.store(most.journal_bytes);
  const ExclusiveLock lock(&mutex_);
  chunks_.SetBytesMax(most.chunk_bytes);
}

uint64_t PageLsns::MemoryBytes() const {
  const SharedLock lock(&mutex_);
  return chunks_.bytes() + on_disk_->recent.size() * sizeof(PageLsnEntry);
}

}  // namespace rowan
