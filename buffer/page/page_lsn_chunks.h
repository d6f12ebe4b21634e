// SPDX-License-Identifier: GPL-2.0-only
// PageLsnChunks: the page LSNs in memory. A chunk has those of 508 neighbouring pages; beyond a
// limit a clock evicts chunks, which are reloaded from the files on demand. LSNs of an evicted
// chunk that the base does not have yet, because they were noted since the last fold, are kept: 16
// bytes a page, until a fold has put them into the base.
//
// Invariant: what was noted is in the base, in a chunk, or kept (from a former run: in PageLsns'
// list of what journals had at the start). So eviction loses nothing.
// Thread safety: const members and the atomics of chunks from several threads, all else exclusively
// (PageLsns::mutex_, shared and exclusive).
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/function_ref.h"
#include "base/ids.h"
#include "buffer/page/page_lsn_base.h"
#include "buffer/page/page_lsn_journal.h"

namespace rowan {

/// A bit for each page of a chunk.
using ChunkPages = std::array<std::atomic<uint64_t>, (kPagesPerChunk + 63) / 64>;

/// Stands for a journal to which entries are being written.
inline constexpr uint64_t kJournalUnderWay = UINT64_MAX;

struct PageLsnChunk {
  std::array<std::atomic<Lsn>, kPagesPerChunk> lsns{};
  ChunkPages noted_pages{};    ///< since it was loaded: the base may lack them
  ChunkPages changed_pages{};  ///< of these, those that no checkpoint has copied
  /// The newest journal with noted pages of it, 0 = none.
  std::atomic<uint64_t> journal{0};
  std::atomic<bool> changed{false};  ///< in the list of changed chunks, or about to be
  std::atomic<bool> loaded{false};   ///< has the contents of the files
  std::atomic<bool> used{true};      ///< since the clock hand passed
};

class PageLsnChunks {
 public:
  [[nodiscard]] PageLsnChunk* Find(ChunkKey key) const;
  /// May evict others.
  PageLsnChunk* FindOrCreate(ChunkKey key);
  void Forget(SpaceId space);
  /// Bytes of chunks, without what is kept of evicted ones; a few chunks at least.
  void SetBytesMax(uint64_t bytes);

  /// Raises the LSNs of a chunk to its kept ones.
  void AddKept(ChunkKey key, PageLsnChunk* chunk) const;
  /// True if no checkpoint has copied something kept of the chunk.
  [[nodiscard]] bool HasKeptChanges(ChunkKey key) const;
  /// Appends them to `copies`.
  void TakeKeptChanges(ChunkKey key, std::vector<PageLsnEntry>* copies);
  /// A copy was not written. REQUIRES: no chunk has the page.
  void MarkKeptChanged(ChunkKey key, const PageLsnEntry& entry);
  /// The copies of the chunk are in this journal.
  void NoteJournal(ChunkKey key, uint64_t journal) const;
  /// The base has what is in the journals up to this one.
  void NoteFolded(uint64_t journal);

  [[nodiscard]] uint64_t chunks() const { return chunks_.load(std::memory_order_relaxed); }
  /// Evicted chunks with something that the base may lack.
  [[nodiscard]] uint64_t kept_chunks() const { return kept_.size(); }
  /// Bytes of what was evicted and waits for a fold.
  [[nodiscard]] uint64_t kept_bytes() const { return kept_bytes_.load(std::memory_order_relaxed); }
  [[nodiscard]] uint64_t bytes() const { return chunks() * sizeof(PageLsnChunk) + kept_bytes(); }

 private:
  struct KeptPage {
    Lsn lsn;
    uint16_t page = 0;  ///< in its chunk
    bool changed = false;
  };
  struct Kept {
    std::vector<KeptPage> pages{};  ///< by page
    mutable std::atomic<uint64_t> journal{0};
  };
  using Chunks = std::vector<std::unique_ptr<PageLsnChunk>>;  ///< by number; null: not in memory

  static uint64_t BytesOf(const Kept& kept);
  /// False if there is no chunk.
  bool EvictOne();
  void Evict(ChunkKey key, std::unique_ptr<PageLsnChunk>* chunk);
  void Keep(Kept* kept, const KeptPage& page);
  void RemoveFromRing(size_t place);

  std::unordered_map<SpaceId, Chunks> spaces_;
  std::map<ChunkKey, Kept> kept_;
  std::vector<ChunkKey> ring_;  ///< chunks, and some that were forgotten
  size_t hand_ = 0;
  uint64_t folded_ = 0;  ///< journals up to this one are in the base
  uint64_t chunks_max_ = UINT64_MAX;
  std::atomic<uint64_t> chunks_{0};
  std::atomic<uint64_t> kept_bytes_{0};
};

}  // namespace rowan
