// SPDX-License-Identifier: GPL-2.0-only
// LeafMap: the visibility map of one index: a word for each leaf, keyed by page number and kept
// outside the leaf, in memory only. It starts empty and fills itself: a thread that has read a
// whole leaf notes it. It answers for a leaf even when the leaf's page is not in the pool.
//
//   bits 0..47   stamp: largest id of a transaction that changed the leaf, or 0 when it is proven
//                that every snapshot, present and future, sees the same on it
//   bits 48..61  live: entries that do not carry the delete mark (kEntryMarked)
//   bit 62       clean: no entry of the leaf carries it
//   bit 63       known: 0 = nothing is known about the page
//
// Invariants (docs/decisions/0007-visibility-map.md has the proof of what follows from them):
//  1. A known word belongs to a page that is a leaf of this index below the root.
//  2. A snapshot whose low_txn is above the stamp of a known word sees exactly `live` entries in
//     the key range of that leaf.
// Words change under the latch of their leaf: exclusive when the leaf changes (Tree), shared after
// all of it was read. So a word never disagrees with the bytes that the latch protects.
//
// All maps of an instance share an amount of memory (base/memory_share.h). When it is used up, a
// leaf without a word gets none and must be visited, which a map would have saved.
//
// Thread safety: all members except Clear. Words are read without any latch; each is one atomic.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/ids.h"
#include "base/memory_share.h"
#include "btree/entry_mark.h"
#include "btree/node.h"

namespace rowan {

class LeafWord {
 public:
  constexpr LeafWord() = default;
  constexpr explicit LeafWord(uint64_t bits) : bits_(bits) {}
  constexpr LeafWord(size_t live, size_t entries, TxnId stamp)
      : bits_(kKnown | (live == entries ? kClean : 0) | (uint64_t{live} << kLiveShift) |
              stamp.value()) {}

  [[nodiscard]] constexpr uint64_t bits() const { return bits_; }
  [[nodiscard]] constexpr bool known() const { return (bits_ & kKnown) != 0; }
  /// REQUIRES for what follows: known.
  [[nodiscard]] constexpr bool clean() const { return (bits_ & kClean) != 0; }
  [[nodiscard]] constexpr size_t live() const { return (bits_ >> kLiveShift) & kLiveMax; }
  [[nodiscard]] constexpr TxnId stamp() const { return TxnId(bits_ & kStampMask); }
  /// Known, and valid for a snapshot with this low_txn.
  [[nodiscard]] constexpr bool HoldsFor(TxnId low_txn) const {
    return known() && stamp() < low_txn;
  }

 private:
  static constexpr uint64_t kStampMask = (uint64_t{1} << 48) - 1;
  static constexpr int kLiveShift = 48;
  static constexpr uint64_t kLiveMax = (uint64_t{1} << 14) - 1;
  static constexpr uint64_t kClean = uint64_t{1} << 62;
  static constexpr uint64_t kKnown = uint64_t{1} << 63;
  static_assert((kPageSizeMax - node_layout::kSlots) /
                        (node_layout::kSlotBytes + node_layout::kLeafRecordHeader) <=
                    kLiveMax,
                "a leaf's entries fit");
  static_assert(kTxnIdLimit - 1 <= kStampMask, "a transaction id fits");

  uint64_t bits_ = 0;
};

class LeafMap {
 public:
  explicit LeafMap(std::shared_ptr<MemoryShare> memory) : memory_(std::move(memory)) {}
  ~LeafMap() { Clear(); }
  LeafMap(const LeafMap&) = delete;
  LeafMap& operator=(const LeafMap&) = delete;

  [[nodiscard]] LeafWord Get(PageNumber page) const {
    const std::atomic<uint64_t>* word = Find(page);
    // The word is the only data read; its writer's commit, or the parent's latch, makes it visible
    // to the threads that must see it.
    return word == nullptr ? LeafWord() : LeafWord(word->load(std::memory_order_relaxed));
  }

  struct Summary {
    uint64_t known = 0;        ///< leaves about which something is known
    uint64_t all_visible = 0;  ///< of these: nothing on them is hidden from any snapshot
  };
  /// `low_txn`: ids below it are visible to the snapshot, or to all. A leaf that changes during the
  /// call is counted as it was before or after the change.
  [[nodiscard]] Summary Summarize(TxnId low_txn) const;

  /// Forgets everything and frees its memory. REQUIRES: no other thread uses the map.
  void Clear();
  /// Notes what a leaf holds. REQUIRES: the leaf's latch is held, and it is not the root.
  void Note(PageNumber page, LeafWord word);
  /// The page is no longer a leaf. REQUIRES: exclusive latch.
  void Forget(PageNumber page) {
    std::atomic<uint64_t>* word = Find(page);
    if (word != nullptr) word->store(0, std::memory_order_relaxed);
  }
  /// `stamp` changed an entry of the leaf (kNoTxn: no transaction that a snapshot could miss):
  /// `live_change` = -1, 0, 1; the leaf now has `entries`. REQUIRES: exclusive latch.
  void Change(PageNumber page, int live_change, size_t entries, TxnId stamp) {
    std::atomic<uint64_t>* word = Find(page);
    if (word == nullptr) return;
    const LeafWord before(word->load(std::memory_order_relaxed));
    if (!before.known()) return;
    const size_t live = before.live() + static_cast<size_t>(live_change);
    const LeafWord after(live, entries, stamp < before.stamp() ? before.stamp() : stamp);
    word->store(after.bits(), std::memory_order_relaxed);
  }

 private:
  /// As many pages as an extent of a large index, so that indexes that share a file do not pay for
  /// each other's pages.
  static constexpr uint32_t kChunkWords = 64;
  /// Segment s lists the chunks 2^s - 1 ... 2^(s+1) - 2: it grows with the file and never moves.
  static constexpr uint32_t kSegments = 27;
  static_assert((uint64_t{1} << (kSegments - 1)) * kChunkWords >= uint64_t{1} << 32);

  using Word = std::atomic<uint64_t>;
  struct Chunk {
    std::array<Word, kChunkWords> words{};
  };
  using ChunkPointer = std::atomic<Chunk*>;
  struct Directory {
    std::array<std::atomic<ChunkPointer*>, kSegments> segments{};
  };
  struct Place {
    uint32_t segment;
    uint32_t chunk;
  };

  static Place PlaceOf(PageNumber page) {
    const uint64_t chunk = page.value() / kChunkWords + uint64_t{1};
    const auto segment = static_cast<uint32_t>(std::bit_width(chunk)) - 1;
    return {segment, static_cast<uint32_t>(chunk - (uint64_t{1} << segment))};
  }
  /// The object that `place` points to, made if there is none; null if there is no memory for it.
  template <typename Object, typename Make, typename Drop>
  Object* FindOrMake(std::atomic<Object*>* place, uint64_t bytes, Make make, Drop drop);
  [[nodiscard]] Word* Find(PageNumber page) const {
    const Directory* directory = directory_.load(std::memory_order_acquire);
    if (directory == nullptr) return nullptr;
    const Place place = PlaceOf(page);
    const ChunkPointer* segment =
        directory->segments[place.segment].load(std::memory_order_acquire);
    if (segment == nullptr) return nullptr;
    Chunk* chunk = segment[place.chunk].load(std::memory_order_acquire);
    return chunk == nullptr ? nullptr : &chunk->words[page.value() % kChunkWords];
  }

  const std::shared_ptr<MemoryShare> memory_;  ///< a table may outlive the pool
  std::atomic<uint64_t> bytes_{0};             ///< taken from it
  /// Published by the thread that first needs it; null for the many indexes of a single leaf.
  std::atomic<Directory*> directory_{nullptr};
};

/// The word according to the latched leaf itself.
[[nodiscard]] LeafWord WordOf(const NodeView& leaf);

}  // namespace rowan
