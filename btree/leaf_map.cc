// SPDX-License-Identifier: GPL-2.0-only
#include "btree/leaf_map.h"

namespace rowan {
namespace {

/// What the heap adds to a block.
constexpr uint64_t kHeapBytes = 16;

}  // namespace

template <typename Object, typename Make, typename Drop>
Object* LeafMap::FindOrMake(std::atomic<Object*>* place, uint64_t bytes, Make make, Drop drop) {
  Object* present = place->load(std::memory_order_acquire);
  if (present != nullptr) return present;
  if (!memory_->TryTake(bytes + kHeapBytes)) return nullptr;
  // If two threads make one, one wins.
  Object* made = make();
  if (place->compare_exchange_strong(present, made, std::memory_order_acq_rel)) {
    bytes_.fetch_add(bytes + kHeapBytes, std::memory_order_relaxed);
    return made;
  }
  drop(made);
  memory_->GiveBack(bytes + kHeapBytes);
  return present;
}

void LeafMap::Clear() {
  Directory* directory = directory_.exchange(nullptr, std::memory_order_relaxed);
  if (directory == nullptr) return;
  for (uint32_t s = 0; s < kSegments; ++s) {
    ChunkPointer* segment = directory->segments[s].load(std::memory_order_relaxed);
    if (segment == nullptr) continue;
    for (uint64_t i = 0; i < uint64_t{1} << s; ++i) {
      delete segment[i].load(std::memory_order_relaxed);
    }
    delete[] segment;
  }
  delete directory;
  memory_->GiveBack(bytes_.exchange(0, std::memory_order_relaxed));
}

LeafMap::Summary LeafMap::Summarize(TxnId low_txn) const {
  Summary summary;
  const Directory* directory = directory_.load(std::memory_order_acquire);
  if (directory == nullptr) return summary;
  for (uint32_t s = 0; s < kSegments; ++s) {
    const ChunkPointer* segment = directory->segments[s].load(std::memory_order_acquire);
    if (segment == nullptr) continue;
    for (uint64_t i = 0; i < uint64_t{1} << s; ++i) {
      const Chunk* chunk = segment[i].load(std::memory_order_acquire);
      if (chunk == nullptr) continue;
      for (const Word& packed : chunk->words) {
        const LeafWord word(packed.load(std::memory_order_relaxed));
        summary.known += word.known() ? 1 : 0;
        summary.all_visible += word.HoldsFor(low_txn) && word.clean() ? 1 : 0;
      }
    }
  }
  return summary;
}

void LeafMap::Note(PageNumber page, LeafWord word) {
  const Place place = PlaceOf(page);
  Directory* directory = FindOrMake(
      &directory_, sizeof(Directory), [] { return new Directory; },
      [](Directory* made) { delete made; });
  if (directory == nullptr) return;
  const size_t chunks = size_t{1} << place.segment;
  ChunkPointer* segment = FindOrMake(
      &directory->segments[place.segment], chunks * sizeof(ChunkPointer),
      [chunks] { return new ChunkPointer[chunks](); }, [](ChunkPointer* made) { delete[] made; });
  if (segment == nullptr) return;
  Chunk* chunk = FindOrMake(
      &segment[place.chunk], sizeof(Chunk), [] { return new Chunk; },
      [](Chunk* made) { delete made; });
  if (chunk == nullptr) return;
  chunk->words[page.value() % kChunkWords].store(word.bits(), std::memory_order_relaxed);
}

LeafWord WordOf(const NodeView& leaf) {
  const size_t count = leaf.count();
  size_t live = 0;
  for (size_t slot = 0; slot < count; ++slot) live += IsMarked(leaf.Value(slot)) ? 0 : 1;
  return {live, count, leaf.newest_change()};
}

}  // namespace rowan
