// SPDX-License-Identifier: GPL-2.0-only
// The map in memory: noting, asking, forgetting, and what a checkpoint takes from it. The files are
// in page_lsns_file.cc. See page_lsns.h.
#include "buffer/page/page_lsns.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/atomic_max.h"

namespace rowan {
namespace {

ChunkKey KeyOf(PageId id) { return {id.space, id.page.value() / kPagesPerChunk}; }

}  // namespace

PageLsns::PageLsns(FileSystem* file_system, SpaceFiles* files)
    : file_system_(file_system), files_(files), on_disk_(std::make_shared<OnDisk>()) {}

PageLsns::Chunk* PageLsns::Find(ChunkKey key) const {
  const auto found = spaces_.find(key.space);
  if (found == spaces_.end() || key.number >= found->second.size()) return nullptr;
  return found->second[key.number].get();
}

PageLsns::Chunk* PageLsns::FindOrCreate(ChunkKey key) const {
  Chunks& chunks = spaces_[key.space];
  if (key.number >= chunks.size()) chunks.resize(key.number + size_t{1});
  std::unique_ptr<Chunk>& chunk = chunks[key.number];
  if (chunk == nullptr) {
    chunk = std::make_unique<Chunk>();
    chunk_count_.fetch_add(1, std::memory_order_relaxed);
  }
  return chunk.get();
}

void PageLsns::MarkChanged(ChunkKey key, Chunk* chunk, uint32_t page) {
  // The page before the chunk: whoever takes the chunk's mark away finds the page's.
  chunk->changed_pages[page / 64].fetch_or(uint64_t{1} << (page % 64), std::memory_order_acq_rel);
  if (chunk->changed.exchange(true, std::memory_order_acq_rel)) return;
  const MutexLock guard(&changed_mutex_);
  changed_.push_back(key);
}

void PageLsns::Note(PageId id, Lsn lsn) {
  const ChunkKey key = KeyOf(id);
  const uint32_t page = id.page.value() % kPagesPerChunk;
  const auto store = [&](Chunk* chunk) {
    // Before the mark: a copy that takes the mark away has this LSN.
    chunk->lsns[page].store(lsn, std::memory_order_relaxed);
    MarkChanged(key, chunk, page);
  };
  {
    const SharedLock lock(&mutex_);
    if (Chunk* found = Find(key)) return store(found);
  }
  const ExclusiveLock lock(&mutex_);
  // A write that ends after the drop of its space: Forget has been here or is still to come.
  if (files_->IsLive(id.space)) store(FindOrCreate(key));
}

Lsn PageLsns::Expected(PageId id) const {
  {
    const SharedLock lock(&mutex_);
    const Chunk* chunk = Find(KeyOf(id));
    if (chunk != nullptr && chunk->loaded.load(std::memory_order_acquire)) {
      return chunk->lsns[id.page.value() % kPagesPerChunk].load(std::memory_order_relaxed);
    }
  }
  return LoadAndLook(id);
}

Lsn PageLsns::LoadAndLook(PageId id) const {
  const ChunkKey key = KeyOf(id);
  std::shared_ptr<const OnDisk> on_disk;
  {
    const SharedLock lock(&mutex_);
    on_disk = on_disk_;
  }
  // Read without a lock; a new base may be put in place meanwhile, and says the same or more.
  Chunk found;
  Merge(&found, key, *on_disk);
  const ExclusiveLock lock(&mutex_);
  if (!files_->IsLive(id.space)) return kNoLsn;
  Chunk* chunk = FindOrCreate(key);
  for (uint32_t page = 0; page < kPagesPerChunk; ++page) {
    RaiseTo(&chunk->lsns[page], found.lsns[page].load(std::memory_order_relaxed));
  }
  chunk->loaded.store(true, std::memory_order_release);
  return chunk->lsns[id.page.value() % kPagesPerChunk].load(std::memory_order_relaxed);
}

void PageLsns::Merge(Chunk* chunk, ChunkKey key, const OnDisk& on_disk) {
  ChunkLsns lsns{};
  if (on_disk.base != nullptr) (void)on_disk.base->Read(key, &lsns);  // damage is logged there
  for (uint32_t page = 0; page < kPagesPerChunk; ++page) RaiseTo(&chunk->lsns[page], lsns[page]);
  const PageId first{key.space, PageNumber(key.number * kPagesPerChunk)};
  auto entry = std::lower_bound(
      on_disk.recent.begin(), on_disk.recent.end(), first.Packed(),
      [](const PageLsnEntry& version, uint64_t page) { return version.page < page; });
  for (; entry != on_disk.recent.end() && KeyOf(PageId::Unpack(entry->page)) == key; ++entry) {
    RaiseTo(&chunk->lsns[PageId::Unpack(entry->page).page.value() % kPagesPerChunk], entry->lsn);
  }
}

bool PageLsns::IsStale(PageId id, Lsn lsn) const {
  return lsn < Expected(id) && lsn < redo_from_.load(std::memory_order_relaxed);
}

void PageLsns::Forget(SpaceId space) {
  const ExclusiveLock lock(&mutex_);
  const auto found = spaces_.find(space);
  if (found == spaces_.end()) return;
  for (const auto& chunk : found->second) {
    if (chunk != nullptr) chunk_count_.fetch_sub(1, std::memory_order_relaxed);
  }
  spaces_.erase(found);
}

PageLsns::Copies PageLsns::CopyChanged() {
  std::vector<ChunkKey> changed;
  {
    const MutexLock guard(&changed_mutex_);
    changed.swap(changed_);
  }
  Copies copies;
  const SharedLock lock(&mutex_);
  for (const ChunkKey key : changed) {
    Chunk* chunk = Find(key);
    if (chunk == nullptr) continue;  // dropped since
    // An exchange, not a store: it sees the pages of whoever found the mark still set.
    (void)chunk->changed.exchange(false, std::memory_order_acq_rel);
    for (uint32_t word = 0; word < chunk->changed_pages.size(); ++word) {
      uint64_t pages = chunk->changed_pages[word].exchange(0, std::memory_order_acq_rel);
      for (; pages != 0; pages &= pages - 1) {
        const uint32_t page = word * 64 + static_cast<uint32_t>(std::countr_zero(pages));
        const PageId id{key.space, PageNumber(key.number * kPagesPerChunk + page)};
        copies.push_back({id.Packed(), chunk->lsns[page].load(std::memory_order_relaxed)});
      }
    }
  }
  return copies;
}

uint64_t PageLsns::MemoryBytes() const {
  const SharedLock lock(&mutex_);
  return chunk_count_.load(std::memory_order_relaxed) * sizeof(Chunk) +
         on_disk_->recent.size() * sizeof(PageLsnEntry);
}

}  // namespace rowan
