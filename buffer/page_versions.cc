// SPDX-License-Identifier: GPL-2.0-only
// The map in memory: noting, asking, forgetting, and what a checkpoint takes from it. The file is
// in page_versions_file.cc. See page_versions.h.
#include "buffer/page_versions.h"

#include <utility>

namespace rowan {
PageVersions::PageVersions(FileSystem* file_system, SpaceFiles* files)
    : file_system_(file_system), files_(files) {}

PageVersions::Chunk* PageVersions::Find(SpaceId space, uint32_t number) const {
  const auto found = spaces_.find(space);
  if (found == spaces_.end() || number >= found->second.size()) return nullptr;
  return found->second[number].get();
}

PageVersions::Chunk* PageVersions::FindOrCreate(SpaceId space, uint32_t number) {
  Chunks& chunks = spaces_[space];
  if (number >= chunks.size()) chunks.resize(number + size_t{1});
  std::unique_ptr<Chunk>& chunk = chunks[number];
  if (chunk == nullptr) {
    chunk = std::make_unique<Chunk>();
    chunk_count_.fetch_add(1, std::memory_order_relaxed);
  }
  return chunk.get();
}

void PageVersions::MarkChanged(uint64_t key, Chunk* chunk) {
  std::lock_guard guard(changed_mutex_);
  if (chunk->changed) return;
  chunk->changed = true;
  changed_.push_back(key);
}

void PageVersions::Note(PageId id, Lsn lsn) {
  const uint32_t number = id.page.value() / kPagesPerChunk;
  const auto store = [&](Chunk* chunk) {
    // Before the mark: a copy that takes the mark away has this LSN.
    chunk->lsns[id.page.value() % kPagesPerChunk].store(lsn.value(), std::memory_order_relaxed);
    MarkChanged(KeyOf(id.space, number), chunk);
  };
  {
    std::shared_lock lock(mutex_);
    if (Chunk* found = Find(id.space, number)) return store(found);
  }
  std::unique_lock lock(mutex_);
  // A write that ends after the drop of its space: Forget has been here or is still to come.
  if (files_->IsLive(id.space)) store(FindOrCreate(id.space, number));
}

Lsn PageVersions::Expected(PageId id) const {
  std::shared_lock lock(mutex_);
  const Chunk* chunk = Find(id.space, id.page.value() / kPagesPerChunk);
  if (chunk == nullptr) return kNoLsn;
  return Lsn(chunk->lsns[id.page.value() % kPagesPerChunk].load(std::memory_order_relaxed));
}

bool PageVersions::IsStale(PageId id, Lsn lsn) const {
  return lsn < Expected(id) && lsn.value() < redo_from_.load(std::memory_order_relaxed);
}

void PageVersions::Forget(SpaceId space) {
  {
    std::unique_lock lock(mutex_);
    const auto found = spaces_.find(space);
    if (found != spaces_.end()) {
      for (const auto& chunk : found->second) {
        if (chunk != nullptr) chunk_count_.fetch_sub(1, std::memory_order_relaxed);
      }
      spaces_.erase(found);
    }
  }
  std::lock_guard guard(file_mutex_);
  const auto first = places_.lower_bound(KeyOf(space, 0));
  const auto last = places_.upper_bound(KeyOf(space, UINT32_MAX));
  for (auto place = first; place != last; ++place) free_pairs_.push_back(place->second.pair);
  places_.erase(first, last);
}

PageVersions::Copies PageVersions::CopyChanged() {
  Copies copies;
  std::shared_lock lock(mutex_);
  std::vector<uint64_t> changed;
  {
    std::lock_guard guard(changed_mutex_);
    changed.swap(changed_);
    for (const uint64_t key : changed) {
      Chunk* chunk = Find(SpaceOf(key), NumberOf(key));
      if (chunk == nullptr) continue;  // dropped since
      chunk->changed = false;
      copies.chunks.push_back(key);
    }
  }
  copies.slots.resize(copies.chunks.size() * kVersionsSlotBytes);
  std::byte* slot = copies.slots.data();
  for (const uint64_t key : copies.chunks) {
    const Chunk* chunk = Find(SpaceOf(key), NumberOf(key));
    for (uint32_t i = 0; i < kPagesPerChunk; ++i) {
      StoreLe<uint64_t>(slot + kVersionsHeaderBytes + i * sizeof(uint64_t),
                        chunk->lsns[i].load(std::memory_order_relaxed));
    }
    slot += kVersionsSlotBytes;
  }
  return copies;
}

uint64_t PageVersions::MemoryBytes() const {
  return chunk_count_.load(std::memory_order_relaxed) * sizeof(Chunk);
}

}  // namespace rowan
