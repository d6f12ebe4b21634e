// SPDX-License-Identifier: GPL-2.0-only
// Tree: a B-tree of byte-string keys in memcmp order, each with a value. It knows nothing of rows,
// transactions or visibility: the layer above decides under the leaf latch what to do.
//
// Structure: the root page never moves (a root split moves its content down). Inner pages are read
// optimistically, leaves under a latch. Every leaf has a right link. Each structure change is a
// mini-transaction of its own, never part of the caller's: when an entry does not fit (kNoRoom),
// the caller abandons its own, calls MakeRoom, and starts over.
// Keys: at most MaxKeyBytes; an entry (key + value) at most MaxEntryBytes of the page size.
// Thread safety: all members, any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "base/function_ref.h"
#include "base/ids.h"
#include "base/status.h"
#include "base/work_budget.h"
#include "btree/insert_pattern.h"
#include "btree/leaf_map.h"
#include "btree/value_cut.h"
#include "buffer/mini_txn.h"
#include "buffer/page_guard.h"
#include "space/page_allocator.h"

namespace rowan {

/// Where an operation landed in an exclusively latched leaf.
struct LeafPosition {
  MutablePage leaf;
  uint16_t slot = 0;   ///< the entry with the key, or where it would be inserted
  bool exact = false;  ///< an entry with exactly this key is at `slot`
};

/// Finds what is no longer needed (mvcc/ supplies the rules): entries with the delete mark, and
/// parts of values. Called under the exclusive leaf latch, before a leaf is split. Must not latch
/// or wait.
struct LeafCleaner {
  using IsGarbage = bool (*)(void* context, Bytes key, Bytes value);
  IsGarbage is_garbage = nullptr;
  void* context = nullptr;
  const ValueShortener* shortener = nullptr;  ///< outlives the tree's use; null: values stay
};

/// Bytes of an entry about to be written.
struct EntrySize {
  size_t key_bytes = 0;
  size_t value_bytes = 0;
};

struct TreeStatistics {
  uint64_t leaf_pages = 0;   ///< estimate
  uint64_t inner_pages = 0;  ///< estimate
  uint64_t entries = 0;      ///< estimate, including delete-marked ones
  uint32_t levels = 1;
};

class NodeView;
struct Ancestors;
struct ChildChoice;

/// Where a cursor saw an entry that may soon be changed, or a leaf that was changed before. Keeps
/// nothing from changing.
struct EntryPlace {
  static constexpr uint16_t kAnySlot = UINT16_MAX;

  OptimisticPage leaf{};  ///< no frame: nowhere
  uint16_t slot = 0;      ///< kAnySlot: wherever the key belongs, if it does to this leaf
};

class Tree {
 public:
  Tree(PageAllocator* allocator, SpaceId space, PageNumber root, IndexId index);

  /// Allocates and initialises an empty root leaf in a mini-transaction of its own.
  static Result<PageNumber> Create(PageAllocator* allocator, SpaceId space, IndexId index);
  /// Frees all pages of the tree (index drop), page by page in mini-transactions, the root last.
  /// Each page but one costs a step of the budget; kBusy when it is used up: the rest is a smaller
  /// tree that another Destroy continues with.
  Status Destroy(WorkBudget* budget);

  [[nodiscard]] static size_t MaxKeyBytes(uint32_t page_size_bytes);
  [[nodiscard]] static size_t MaxEntryBytes(uint32_t page_size_bytes);

  // --- changes, under an exclusive leaf latch held by the caller's mini-transaction ---

  /// Latches the leaf that owns `key`: the one where its entry was `seen`, if that is unchanged,
  /// else by a descent. REQUIRES: mini_txn started, holds no tree page.
  Status FindForWrite(MiniTxn* mini_txn, Bytes key, LeafPosition* position,
                      const EntryPlace& seen = {});
  /// The leaf as the mini-transaction leaves it, for the next change nearby.
  [[nodiscard]] static EntryPlace PlaceAfter(const MiniTxn& mini_txn,
                                             const LeafPosition& position) {
    return {mini_txn.OnceReleased(position.leaf), EntryPlace::kAnySlot};
  }
  /// Whether InsertAt or UpdateAt has room for an entry of this size at the position. For callers
  /// that must log something else first.
  [[nodiscard]] bool InsertFits(const LeafPosition& position, size_t key_bytes,
                                size_t value_bytes) const;
  [[nodiscard]] bool UpdateFits(const LeafPosition& position, size_t value_bytes) const;
  /// REQUIRES: !position.exact. kNoRoom leaves everything unchanged. `stamp` = the changing
  /// transaction, kept per leaf as "newest change".
  Status InsertAt(MiniTxn* mini_txn, const LeafPosition& position, Bytes key, Bytes value,
                  TxnId stamp);
  /// REQUIRES: position.exact. Logs only the bytes between the common prefix and suffix.
  Status UpdateAt(MiniTxn* mini_txn, const LeafPosition& position, Bytes value, TxnId stamp);
  /// REQUIRES: position.exact.
  void RemoveAt(MiniTxn* mini_txn, const LeafPosition& position);
  /// The value at an exact position; valid while the latch is held and nothing was changed.
  [[nodiscard]] Bytes ValueAt(const LeafPosition& position) const;
  [[nodiscard]] size_t EntryCountAt(const LeafPosition& position) const;

  /// Splits (or cleans) so that an entry of this size fits where `key` belongs. No latch held.
  Status MakeRoom(Bytes key, size_t key_bytes, size_t value_bytes, const LeafCleaner& cleaner,
                  PageUse use = PageUse::kOrdinary);
  /// After removals: merges the leaf owning `key` with its right sibling when both fit in 80 % of a
  /// page, or unlinks it when empty. Best effort. No latch held.
  Status MergeIfSmall(Bytes key);

  /// Entries inserted by InsertAt since the tree was opened, by place.
  [[nodiscard]] InsertCounts insert_counts() const;

  // --- estimates and checks ---

  /// Entries in [low, high); empty high = unbounded. No row access. Exact, by one descent, when at
  /// most ten leaves lie between its ends. `path`: to where an earlier range in this tree began, or
  /// empty; the search begins there, and leaves its own.
  Result<uint64_t> EstimateRange(Bytes low, Bytes high, Ancestors* path);
  Result<uint64_t> EstimateRange(Bytes low, Bytes high);
  Result<TreeStatistics> Statistics();
  /// Key of the first entry of a leaf chosen at random: every child on the way down is equally
  /// likely. kRestart when a writer intervened or the leaf is empty: retry with another seed.
  Status SampleLeaf(uint64_t seed, std::vector<std::byte>* first_key);
  /// Walks every page: order, bounds, links, levels, allocation bits, checksums. Calls `visit` (may
  /// be empty) for each leaf entry in key order. kCorrupt with a logged sentence naming the page.
  using Visit = FunctionRef<Status(Bytes key, Bytes value)>;
  using PageVisit = FunctionRef<void(PageNumber page)>;
  /// Whether every snapshot whose low_txn is above `stamp` sees the entry as its delete mark says
  /// (mvcc/ supplies the rule). Called with what the visibility map, or the leaf, claims.
  using IsDecided = FunctionRef<bool(Bytes value, TxnId stamp)>;
  /// kInterrupted: `interrupted`, if given, says so; it is called for each page.
  Status Check(Visit visit, PageVisit visit_page = {}, IsDecided is_decided = {},
               FunctionRef<bool()> interrupted = {});

  /// What is known about the leaves without visiting them. All changes of an index must go through
  /// one Tree: its map would not know about another object's.
  [[nodiscard]] const LeafMap& leaf_map() const { return leaf_map_; }
  /// REQUIRES: no other thread uses the tree.
  void ForgetLeafMap() { leaf_map_.Clear(); }
  /// For a caller that has read a whole leaf. REQUIRES: its latch is held.
  void NoteLeaf(PageNumber page, LeafWord word) {
    if (page != root_) leaf_map_.Note(page, word);
  }
  void NoteLeaf(PageNumber page, const NodeView& leaf) { NoteLeaf(page, WordOf(leaf)); }

  [[nodiscard]] SpaceId space() const { return space_; }
  [[nodiscard]] PageNumber root() const { return root_; }
  [[nodiscard]] IndexId index() const { return index_; }
  [[nodiscard]] PageAllocator* allocator() const { return allocator_; }
  [[nodiscard]] BufferPool* pool() const { return allocator_->pool(); }
  /// Logs and returns kCorrupt: the page is not what this tree needs there. `what`: a clause like
  /// "it is not a leaf of its index".
  Status ReportDamage(PageNumber page, const char* what) const {
    return pool()->ReportDamage({space_, page}, what, index_);
  }

 private:
  struct NodePair;
  /// False, and nothing is latched: the entry is not there, or somebody is.
  bool TryPlace(MiniTxn* mini_txn, Bytes key, const EntryPlace& seen, LeafPosition* position);
  [[nodiscard]] bool FitsAt(const NodeView& leaf, Bytes key, const EntrySize& size) const;
  Status CleanLeaf(Bytes key, const EntrySize& size, const LeafCleaner& cleaner, bool* fits);
  void RemoveGarbage(MiniTxn* mini_txn, const MutablePage& page, const LeafCleaner& cleaner);
  Status SplitAt(Bytes key, const EntrySize& size, uint8_t level, PageUse use);
  Status SplitUnder(MiniTxn* mini_txn, PageReservation* reservation, const NodePair& pair,
                    Bytes key, const EntrySize& size);
  Status GrowRoot(MiniTxn* mini_txn, PageReservation* reservation, uint8_t level);
  [[nodiscard]] Result<MutablePage> LatchAgain(MiniTxn* mini_txn, const OptimisticPage& page,
                                               PageNumber number) const;
  enum class MergeOutcome : uint8_t { kNothing, kMerged, kLookAbove, kTryOther };
  Status MergeAtLevel(Bytes key, uint8_t level, MergeOutcome* outcome);
  Status MergeWithPartner(Bytes key, uint8_t level, size_t which, MergeOutcome* outcome);
  Status MergePair(MiniTxn* mini_txn, const OptimisticPage& parent, uint16_t left_index,
                   bool* merged);
  Status CollapseRoot();
  Status FreeChildren(PageNumber page, WorkBudget* budget);
  /// One path down from a node; the first step takes one of the children [first, last), later ones
  /// any.
  struct SampleStart {
    PageNumber page;
    uint16_t first = 0;
    uint16_t last = UINT16_MAX;
  };
  Status SamplePath(const SampleStart& start, uint64_t seed, std::vector<ChildChoice>* path,
                    uint64_t* leaf_entries);
  /// The entries of some consecutive leaves.
  struct LeafRun {
    uint64_t entries = 0;
    uint32_t leaves = 0;
    bool reached_end = false;
  };
  LeafRun CountLeaves(PageNumber first, Bytes high);
  Result<uint64_t> EstimateLongRange(Bytes low, Bytes high, LeafRun seen);
  double MeanLeafEntries(const SampleStart& start, uint64_t seed, const LeafRun& seen);
  [[nodiscard]] PageId Id(PageNumber page) const { return {space_, page}; }

  PageAllocator* const allocator_;
  const SpaceId space_;
  const PageNumber root_;
  const IndexId index_;
  LeafMap leaf_map_;
  using PlaceCounts = std::array<std::atomic<uint64_t>, static_cast<size_t>(InsertPlace::kCount)>;
  /// By InsertPlace; inserting threads add to it, on a cache line of its own.
  alignas(64) PlaceCounts inserts_{};
};

void RegisterTreeRedo();

}  // namespace rowan
