// SPDX-License-Identifier: GPL-2.0-only
// Cursor: an ordered walk over a tree's entries under shared leaf latches. Between Latch...Unlatch
// the cursor holds one leaf shared; entries it returns point into the page and are valid until the
// next call. Do not keep it latched while waiting for anything, or across calls of the layer above.
//
// Seeks try the current leaf first (if it has not changed since, and the previous seek of the kind
// did not leave its leaf); then its right neighbour, if the previous seek went that way; then they
// descend from the lowest inner page of the last path that covers the key (Ancestors), and only
// then from the root: a seek to the next group of a loose index scan costs a binary search or two,
// in both directions, and one to a random key does not look at a leaf in vain. There are no left
// links: to move back over the start of a leaf they go through its parent, by the leaf's lower
// bound.
//
// An entry that is only to be copied can be found without latching its leaf, by the same ways
// (TryFindUnlatched): the page's version then tells whether the copy is good.
//
// A right neighbour that has to be read is read with no leaf latched; then the walk continues if
// the leaf is unchanged, else from its key. A walk over many leaves keeps the pages that others use
// often in the pool (FixHint::kScan), and has those that follow in its direction read before it
// comes to them (LeavesAhead). A seek that comes back to its leaf, or the one before, goes on with
// the walk: those who change rows or lock gaps between leaves look again.
// Thread safety: one thread per cursor.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/function_ref.h"
#include "base/ids.h"
#include "base/status.h"
#include "btree/descent.h"
#include "btree/direction.h"
#include "btree/leaf_directory.h"
#include "btree/leaves_ahead.h"
#include "btree/node.h"
#include "btree/node_search.h"
#include "btree/tree.h"
#include "buffer/page_guard.h"

namespace rowan {

/// An entry of a leaf that is not latched: its bytes may change while they are read. They are those
/// of the tree if the leaf validates after they were copied (UnlatchedCopy).
struct UnlatchedEntry {
  OptimisticPage leaf{};
  Bytes value{};
  bool exists = false;
};

class Cursor {
 public:
  explicit Cursor(Tree* tree, FixHint hint = FixHint::kNormal);
  Cursor(const Cursor&) = delete;
  Cursor& operator=(const Cursor&) = delete;
  /// Forgets everything and walks another tree.
  void Reset(Tree* tree, FixHint hint = FixHint::kNormal);

  /// Bypasses unreadable pages with the help of `detour`; null: fails there. In force until Reset;
  /// `detour` must live that long.
  void SetDetour(const LeafDirectory* detour) { detour_ = detour; }

  /// Positions on the first entry >= key. kEndOfRange: none (the cursor is then past the end).
  Status SeekAtLeast(Bytes key);
  /// Positions on the entry `key`. kNotFound: there is none, and the cursor has no position but
  /// holds the leaf that an insert of the key would go to (no leaf: the index is gone).
  Status SeekExactly(Bytes key);
  /// The leaf that owns the key, or an inner page on the way to it that is not in the pool.
  /// kNoPage: unknown. Latches and reads nothing, so it is but a hint (BufferPool::Prefetch).
  [[nodiscard]] PageNumber LeafAhead(Bytes key) const { return descent_.UnlatchedLeafOf(key); }
  /// Finds the entry `key` without latching anything, and leaves the cursor as LeaveEntry does.
  /// False: it takes a latch to say anything (SeekExactly).
  [[nodiscard]] bool TryFindUnlatched(Bytes key, UnlatchedEntry* entry);
  /// SeekExactly of the key of the last TryFindUnlatched: begins on the leaf found then.
  Status SeekFound(Bytes key);
  /// Positions on the last entry < key. kEndOfRange: none.
  Status SeekBefore(Bytes key);
  Status SeekFirst();
  Status SeekLast();
  /// Moves by one entry. After Unlatch they re-latch first: to the same place if the leaf did not
  /// change, else by seeking from the remembered key (which may be gone: Next then yields the first
  /// entry after it, Prev the last before it). kEndOfRange at the ends.
  Status Next();
  Status Prev();
  /// Next or Prev.
  Status Step(Direction direction) { return direction == Direction::kForward ? Next() : Prev(); }
  /// SeekAtLeast or SeekBefore; without a key SeekFirst or SeekLast.
  Status Seek(Direction direction, const Bytes* key) {
    if (key == nullptr) return direction == Direction::kForward ? SeekFirst() : SeekLast();
    return direction == Direction::kForward ? SeekAtLeast(*key) : SeekBefore(*key);
  }

  [[nodiscard]] bool latched() const { return leaf_.held(); }
  /// REQUIRES: latched on an entry. The key is assembled into the cursor's buffer (prefix +
  /// suffix).
  [[nodiscard]] Bytes key();
  /// REQUIRES: latched on an entry. Points into the page.
  [[nodiscard]] Bytes value() const;
  /// Largest transaction id that changed the latched leaf (the `stamp` of Tree's changes).
  [[nodiscard]] TxnId leaf_newest_change() const;
  /// Slot and entry count of the latched leaf: lets the caller take a whole leaf at once.
  [[nodiscard]] uint16_t slot() const { return slot_; }
  [[nodiscard]] uint16_t leaf_entries() const;
  [[nodiscard]] PageNumber leaf() const { return leaf_page_; }
  /// The latched leaf itself, for layers that take many entries under one latch.
  [[nodiscard]] NodeView View() const;
  /// Of the entry where the cursor stood when it released its latch last.
  [[nodiscard]] EntryPlace place() const {
    if (!on_entry_ || latched()) return {};
    return {{known_leaf_.frame, known_leaf_.page, known_leaf_.version}, slot_};
  }
  /// Moves to another entry of the latched leaf. REQUIRES: slot < leaf_entries().
  void MoveTo(uint16_t slot) {
    slot_ = slot;
    key_valid_ = false;
  }

  /// Visits at most this many entries that follow on the same leaf in a direction, under its latch,
  /// and stays where it is. None if the leaf has changed. REQUIRES: not latched.
  using EntryVisit = FunctionRef<void(Bytes key, Bytes value)>;
  void PeekAhead(Direction direction, size_t most, EntryVisit visit);

  /// Releases the latch; Next and Prev go on from here.
  void Unlatch();
  /// Releases the latch and forgets the entry, not the leaf: for one look-up after the other. Until
  /// a seek, Next and Prev are at the end.
  void LeaveEntry();
  /// Releases the latch and forgets the place; allocates nothing.
  void LetGo();

 private:
  /// The leaf that was latched last, and what proves that it is still the same: a short way back.
  struct KnownLeaf {
    Frame* frame = nullptr;
    const std::byte* page = nullptr;
    Latch::Version version = 0;
  };

  /// The first entry >= key (kOwner) or the last one < key (kBefore), if the latched leaf alone
  /// proves it: it owns the key, or has that last entry.
  [[nodiscard]] std::optional<SlotSearch> SlotHere(Aim aim, Bytes key) const;
  void StandOn(uint16_t slot);
  /// kRestart, here and below: the leaf changed while its neighbour was read; nothing is latched,
  /// and the walk starts again from its key.
  Status TrySeekAtLeast(Bytes key);
  Status SkipEmptyForward();
  void GoOnFrom(PageNumber leaf_before);
  void BeginWalk() {
    leaves_walked_ = 0;
    walked_from_ = kNoPage;
    leaves_ahead_.Restart();
    descent_.SetLeafHint(hint_);
  }
  Status StepToRight();
  Status StepToLeft();
  Status PrepareRight(PageId page, bool is_absent);
  [[nodiscard]] FixHint HintForNext() const;
  Status DescendBefore(Aim aim, Bytes key);
  /// SlotHere of the latched leaf, or of its right neighbour if that is likely; kNotFound: neither,
  /// and nothing is latched.
  Result<SlotSearch> SlotHereOrNext(Aim aim, Bytes key);
  /// The leaf that owns the key is latched; its first entry >= key, which may be its end.
  Result<SlotSearch> ToOwner(Bytes key);
  /// Ends SeekExactly, with the key's leaf latched.
  Status StandExactly(const SlotSearch& found);
  [[nodiscard]] LeafEntry FindIn(const OptimisticPage& leaf, Bytes key) const;
  void NoteWay(Aim aim, PageNumber leaf_before);
  [[nodiscard]] bool& stays(Aim aim) { return stays_[aim == Aim::kBefore ? 1 : 0]; }
  void KeepLeaf();
  [[nodiscard]] bool TryRelatchHere();
  Status AtEnd();
  /// Damage that can be bypassed.
  [[nodiscard]] bool HasDetour(const Status& status) const {
    return detour_ != nullptr && (status.Is(Code::kCorrupt) || status.Is(Code::kIoError));
  }
  /// Latches the leaf; kEndOfRange: `leaf` is null.
  Status ToListed(const LeafDirectory::Leaf* leaf);
  void AssembleBehind(std::vector<std::byte>* key) const;
  Status DetourToRight(Bytes behind);
  Status DetourBefore(Aim aim, Bytes key);

  Tree* tree_;
  FixHint hint_;
  Ancestors ancestors_;
  Descent descent_;
  const LeafDirectory* detour_ = nullptr;
  PageGuard leaf_;
  PageNumber leaf_page_{0};
  KnownLeaf known_leaf_;
  uint16_t slot_ = 0;
  uint32_t leaves_walked_ = 0;  ///< in one direction
  PageNumber walked_from_;      ///< the leaf before, of a walk to the right
  LeavesAhead leaves_ahead_;
  bool to_neighbour_ = false;  ///< the last seek that left its leaf went to the right neighbour
  /// By aim, kOwner and kBefore: the last seek found its key on the leaf before, or next to it.
  std::array<bool, 2> stays_{true, true};
  bool on_entry_ = false;            ///< slot_ is an entry of the latched or known leaf
  bool key_valid_ = false;           ///< key_ is the key of the current entry
  std::vector<std::byte> key_;       ///< capacity is kept
  std::vector<std::byte> seek_key_;  ///< key of a seek in progress
  std::vector<std::byte> lower_;     ///< lower bound of the leaf a descent reached
  std::vector<std::byte> bound_;     ///< that of the leaf to the right of it
};

}  // namespace rowan
