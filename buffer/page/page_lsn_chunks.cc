// SPDX-License-Identifier: GPL-2.0-only
#include "buffer/page/page_lsn_chunks.h"

#include <algorithm>
#include <bit>

#include "base/atomic_max.h"

namespace rowan {
namespace {

/// A thread that reads or writes a few pages at a time finds their chunks.
constexpr uint64_t kChunksMin = 16;
/// Used chunks that the clock passes, at most, to evict one.
constexpr size_t kEvictStepsMax = 64;
/// About a map node and a small heap block.
constexpr uint64_t kKeptOverheadBytes = 112;

bool Has(const ChunkPages& pages, uint32_t page) {
  return (pages[page / 64].load(std::memory_order_relaxed) >> (page % 64) & 1) != 0;
}

}  // namespace

PageLsnChunk* PageLsnChunks::Find(ChunkKey key) const {
  const auto found = spaces_.find(key.space);
  if (found == spaces_.end() || key.number >= found->second.size()) return nullptr;
  return found->second[key.number].get();
}

PageLsnChunk* PageLsnChunks::FindOrCreate(ChunkKey key) {
  if (PageLsnChunk* found = Find(key)) return found;
  while (chunks() >= chunks_max_ && EvictOne()) {
  }
  Chunks& chunks = spaces_[key.space];
  if (key.number >= chunks.size()) chunks.resize(key.number + size_t{1});
  chunks[key.number] = std::make_unique<PageLsnChunk>();
  ring_.push_back(key);
  chunks_.fetch_add(1, std::memory_order_relaxed);
  return chunks[key.number].get();
}

void PageLsnChunks::SetBytesMax(uint64_t bytes) {
  chunks_max_ = std::max(kChunksMin, bytes / sizeof(PageLsnChunk));
  while (chunks() > chunks_max_ && EvictOne()) {
  }
}

void PageLsnChunks::Forget(SpaceId space) {
  auto kept = kept_.lower_bound({space, 0});
  while (kept != kept_.end() && kept->first.space == space) {
    kept_bytes_.fetch_sub(BytesOf(kept->second), std::memory_order_relaxed);
    kept = kept_.erase(kept);
  }
  const auto found = spaces_.find(space);
  if (found == spaces_.end()) return;
  const auto present = [](const auto& chunk) { return chunk != nullptr; };
  chunks_.fetch_sub(
      static_cast<uint64_t>(std::count_if(found->second.begin(), found->second.end(), present)),
      std::memory_order_relaxed);
  spaces_.erase(found);
  // The hand removes the others when it passes, if it moves at all.
  if (ring_.size() <= 2 * chunks() + kEvictStepsMax) return;
  std::erase_if(ring_, [this](ChunkKey key) { return Find(key) == nullptr; });
}

void PageLsnChunks::RemoveFromRing(size_t place) {
  ring_[place] = ring_.back();
  ring_.pop_back();
}

bool PageLsnChunks::EvictOne() {
  for (size_t step = 0; !ring_.empty();) {
    hand_ %= ring_.size();
    const ChunkKey key = ring_[hand_];
    PageLsnChunk* const chunk = Find(key);
    if (chunk == nullptr) {
      RemoveFromRing(hand_);
      continue;
    }
    if (chunk->used.exchange(false, std::memory_order_relaxed) && ++step < kEvictStepsMax) {
      ++hand_;
      continue;
    }
    Evict(key, &spaces_[key.space][key.number]);
    RemoveFromRing(hand_);
    return true;
  }
  return false;
}

uint64_t PageLsnChunks::BytesOf(const Kept& kept) {
  return kKeptOverheadBytes + kept.pages.capacity() * sizeof(KeptPage);
}

void PageLsnChunks::Keep(Kept* kept, const KeptPage& page) {
  const auto place = std::lower_bound(
      kept->pages.begin(), kept->pages.end(), page.page,
      [](const KeptPage& present, uint16_t wanted) { return present.page < wanted; });
  if (place == kept->pages.end() || place->page != page.page) {
    kept->pages.insert(place, page);
    return;
  }
  place->lsn = std::max(place->lsn, page.lsn);
  place->changed |= page.changed;
}

void PageLsnChunks::Evict(ChunkKey key, std::unique_ptr<PageLsnChunk>* chunk) {
  const PageLsnChunk& leaving = **chunk;
  const uint64_t journal = leaving.journal.load(std::memory_order_relaxed);
  const bool changed = leaving.changed.load(std::memory_order_relaxed);
  if (changed || journal > folded_) {
    const auto [found, fresh] = kept_.try_emplace(key);
    Kept* const kept = &found->second;
    const uint64_t bytes_before = fresh ? 0 : BytesOf(*kept);
    for (uint32_t page = 0; page < kPagesPerChunk; ++page) {
      if (!Has(leaving.noted_pages, page)) continue;
      Keep(kept, {leaving.lsns[page].load(std::memory_order_relaxed), static_cast<uint16_t>(page),
                  Has(leaving.changed_pages, page)});
    }
    RaiseTo(&kept->journal, journal);
    kept_bytes_.fetch_add(BytesOf(*kept) - bytes_before, std::memory_order_relaxed);
  }
  chunk->reset();
  chunks_.fetch_sub(1, std::memory_order_relaxed);
}

void PageLsnChunks::AddKept(ChunkKey key, PageLsnChunk* chunk) const {
  const auto found = kept_.find(key);
  if (found == kept_.end()) return;
  for (const KeptPage& page : found->second.pages) RaiseTo(&chunk->lsns[page.page], page.lsn);
}

bool PageLsnChunks::HasKeptChanges(ChunkKey key) const {
  const auto found = kept_.find(key);
  return found != kept_.end() && std::any_of(found->second.pages.begin(), found->second.pages.end(),
                                             [](const KeptPage& page) { return page.changed; });
}

void PageLsnChunks::TakeKeptChanges(ChunkKey key, std::vector<PageLsnEntry>* copies) {
  const auto found = kept_.find(key);
  if (found == kept_.end()) return;
  for (KeptPage& page : found->second.pages) {
    if (!page.changed) continue;
    page.changed = false;
    found->second.journal.store(kJournalUnderWay, std::memory_order_relaxed);
    const PageId id{key.space, PageNumber(key.number * kPagesPerChunk + page.page)};
    copies->push_back({id.Packed(), page.lsn});
  }
}

void PageLsnChunks::MarkKeptChanged(ChunkKey key, const PageLsnEntry& entry) {
  const auto [found, fresh] = kept_.try_emplace(key);
  Kept* const kept = &found->second;
  const uint64_t bytes_before = fresh ? 0 : BytesOf(*kept);
  const uint32_t page = PageId::Unpack(entry.page).page.value() % kPagesPerChunk;
  Keep(kept, {entry.lsn, static_cast<uint16_t>(page), true});
  kept_bytes_.fetch_add(BytesOf(*kept) - bytes_before, std::memory_order_relaxed);
}

void PageLsnChunks::NoteJournal(ChunkKey key, uint64_t journal) const {
  const auto settle = [journal](std::atomic<uint64_t>* number) {
    if (number->load(std::memory_order_relaxed) == kJournalUnderWay) {
      number->store(journal, std::memory_order_relaxed);
    }
  };
  if (PageLsnChunk* chunk = Find(key)) settle(&chunk->journal);
  const auto found = kept_.find(key);
  if (found != kept_.end()) settle(&found->second.journal);
}

void PageLsnChunks::NoteFolded(uint64_t journal) {
  folded_ = std::max(folded_, journal);
  for (auto kept = kept_.begin(); kept != kept_.end();) {
    const bool in_base = kept->second.journal.load(std::memory_order_relaxed) <= folded_ &&
                         !HasKeptChanges(kept->first);
    if (in_base) kept_bytes_.fetch_sub(BytesOf(kept->second), std::memory_order_relaxed);
    kept = in_base ? kept_.erase(kept) : std::next(kept);
  }
  for (const ChunkKey key : ring_) {
    PageLsnChunk* const chunk = Find(key);
    if (chunk == nullptr || chunk->changed.load(std::memory_order_relaxed) ||
        chunk->journal.load(std::memory_order_relaxed) > folded_) {
      continue;
    }
    for (std::atomic<uint64_t>& word : chunk->noted_pages) word.store(0, std::memory_order_relaxed);
  }
}

}  // namespace rowan
