// SPDX-License-Identifier: GPL-2.0-only
// A known leaf is proven unchanged by its frame's latch version alone: a frame gets another
// page, and a page new bytes, only under the exclusive latch. Page numbers prove nothing, because a
// page may have been freed and its image on disk be an old one.
#include "btree/cursor.h"

#include <algorithm>
#include <utility>

#include "base/assertions.h"
#include "base/counters.h"
#include "btree/node_search.h"
#include "btree/node_split.h"

namespace rowan {
namespace {

/// Leaves of one walk that enter the pool like those of any read: short ranges are read again.
constexpr uint32_t kLeavesOfAShortWalk = 16;

}  // namespace

Cursor::Cursor(Tree* tree, FixHint hint) : tree_(tree), hint_(hint), descent_(*tree) {
  descent_.Remember(&ancestors_);
}

void Cursor::Reset(Tree* tree, FixHint hint) {
  leaf_.Release();
  tree_ = tree;
  hint_ = hint;
  ancestors_.Clear();
  descent_ = Descent(*tree);
  descent_.Remember(&ancestors_);
  known_leaf_ = {};
  detour_ = nullptr;
  BeginWalk();
  to_neighbour_ = false;
  stays_ = {true, true};
  on_entry_ = false;
  key_valid_ = false;
}

NodeView Cursor::View() const { return NodeView({leaf_.page(), tree_->pool()->page_size_bytes()}); }

Status Cursor::AtEnd() {
  leaf_.Release();
  known_leaf_ = {};
  on_entry_ = false;
  return Status(Code::kEndOfRange);
}

bool Cursor::TryRelatchHere() {
  if (leaf_.held()) return true;
  if (known_leaf_.frame == nullptr) return false;
  if (!known_leaf_.frame->latch.TryShareFromOptimistic(known_leaf_.version)) return false;
  leaf_ =
      PageGuard(known_leaf_.frame, const_cast<std::byte*>(known_leaf_.page), LatchMode::kShared);
  return true;
}

std::optional<SlotSearch> Cursor::SlotHere(Aim aim, Bytes key) const {
  const NodeView leaf = View();
  SlotSearch found = SearchNode(leaf.page(), key);
  const bool before = aim == Aim::kBefore;
  if (found.slot == 0 && (before || !found.exact)) return {};  // it may be further left
  const bool at_end = found.slot >= leaf.count() && !leaf.rightmost();
  if (before) --found.slot;
  if (!at_end) return found;
  if (!leaf.has_high_key()) return {};
  const int order = CompareBytes(key, leaf.high_key());
  return (before ? order <= 0 : order < 0) ? std::optional(found) : std::nullopt;
}

Status Cursor::SeekAtLeast(Bytes key) {
  Status status = TrySeekAtLeast(key);
  while (status.Is(Code::kRestart)) status = TrySeekAtLeast(key);
  return status;
}

Status Cursor::TrySeekAtLeast(Bytes key) {
  Result<SlotSearch> found = ToOwner(key);
  if (!found.ok()) return found.status();
  slot_ = found->slot;
  // Its lower bound is here, or the first entry further right.
  return SkipEmptyForward();
}

Status Cursor::SeekExactly(Bytes key) {
  Result<SlotSearch> found = ToOwner(key);
  return found.ok() ? StandExactly(*found) : found.status();
}

Status Cursor::StandExactly(const SlotSearch& found) {
  if (found.exact) {
    StandOn(found.slot);
    return Status::Ok();
  }
  on_entry_ = false;
  return Status(Code::kNotFound);
}

bool Cursor::TryFindUnlatched(Bytes key, UnlatchedEntry* entry) {
  LeaveEntry();
  if (stays(Aim::kOwner) && !to_neighbour_ && known_leaf_.frame != nullptr) {
    entry->leaf = {known_leaf_.frame, known_leaf_.page, known_leaf_.version};
    const LeafEntry found = FindIn(entry->leaf, key);
    if (found.within && entry->leaf.Validate()) {
      AddCounter(Counter::kLeafSeeksLocal);
      entry->value = found.value;
      entry->exists = found.exists;
      return true;
    }
  }
  known_leaf_ = {};
  PageNumber number;
  if (!descent_.TryToLeafUnlatched(key, &number, &entry->leaf)) return false;
  const PageNumber leaf_before = std::exchange(leaf_page_, number);
  known_leaf_ = {entry->leaf.frame, entry->leaf.page, entry->leaf.version};
  NoteWay(Aim::kOwner, leaf_before);
  const LeafEntry found = FindIn(entry->leaf, key);
  if (!found.is_leaf) known_leaf_ = {};  // damage: for a descent to find and to report
  entry->value = found.value;
  entry->exists = found.exists;
  return found.is_leaf;
}

LeafEntry Cursor::FindIn(const OptimisticPage& leaf, Bytes key) const {
  return UnlatchedFind({leaf.page, tree_->pool()->page_size_bytes()}, tree_->index(), key);
}

Status Cursor::SeekFound(Bytes key) {
  if (known_leaf_.frame != nullptr && TryRelatchHere()) {
    // The way here is counted already.
    const std::optional<SlotSearch> found = SlotHere(Aim::kOwner, key);
    if (found.has_value()) return StandExactly(*found);
    leaf_.Release();
  }
  return SeekExactly(key);
}

Result<SlotSearch> Cursor::ToOwner(Bytes key) {
  if (stays(Aim::kOwner) && TryRelatchHere()) {
    Result<SlotSearch> found = SlotHereOrNext(Aim::kOwner, key);
    if (found.ok() || !found.status().Is(Code::kNotFound)) return found;
  }
  leaf_.Release();
  const PageNumber leaf_before = leaf_page_;
  descent_.SetLeafHint(HintForNext());
  Status status = descent_.ToLeafNearby({Aim::kOwner, key}, LatchMode::kShared, &leaf_);
  if (HasDetour(status)) status = ToListed(detour_->OwnerOf(key));
  if (!status.ok()) return status;
  leaf_page_ = leaf_.id().page;
  GoOnFrom(leaf_before);
  NoteWay(Aim::kOwner, leaf_before);
  return SearchNode(View().page(), key);
}

/// Try the neighbour only if the previous seek went that way: a vain try costs as much as going
/// through the parent.
Result<SlotSearch> Cursor::SlotHereOrNext(Aim aim, Bytes key) {
  std::optional<SlotSearch> found = SlotHere(aim, key);
  if (found.has_value()) {
    AddCounter(Counter::kLeafSeeksLocal);
    return *found;
  }
  const NodeView leaf = View();
  const bool likely = to_neighbour_ && leaf.right() != kNoPage && leaf.has_high_key() &&
                      CompareBytes(key, leaf.high_key()) >= 0 &&
                      tree_->pool()->IsResident({tree_->space(), leaf.right()});
  if (likely) {
    const Status status = StepToRight();
    if (!status.ok()) return status.Is(Code::kRestart) ? Status(Code::kNotFound) : status;
    found = SlotHere(aim, key);
    if (found.has_value()) {
      AddCounter(Counter::kSeeksToNeighbour);
      ++ancestors_.child_index;
      return *found;
    }
  }
  leaf_.Release();
  to_neighbour_ = false;
  return Status(Code::kNotFound);
}

void Cursor::NoteWay(Aim aim, PageNumber leaf_before) {
  to_neighbour_ = descent_.way() == Descent::Way::kToNeighbour;
  stays(aim) = to_neighbour_ || leaf_page_ == leaf_before;
  switch (descent_.way()) {
    case Descent::Way::kToNeighbour: return AddCounter(Counter::kSeeksToNeighbour);
    case Descent::Way::kClimbed: return AddCounter(Counter::kSeeksClimbed);
    case Descent::Way::kDescended: return AddCounter(Counter::kLeafSeeksDescend);
  }
}

/// From a slot that may be the leaf's end to the next entry, left to right, latch by latch.
Status Cursor::SkipEmptyForward() {
  key_valid_ = false;
  while (slot_ >= View().count()) {
    if (View().right() == kNoPage) return AtEnd();
    const Status status = StepToRight();
    if (!status.ok()) return status;
  }
  StandOn(slot_);
  return Status::Ok();
}

Status Cursor::StepToRight() {
  const PageId id{tree_->space(), View().right()};
  if (detour_ != nullptr) AssembleBehind(&bound_);
  const bool is_absent = !tree_->pool()->IsResident(id);
  if (leaves_ahead_.IsDue() || is_absent) [[unlikely]] {
    const Status prepared = PrepareRight(id, is_absent);
    if (!prepared.ok()) return prepared;
  }
  // The link is right as long as this leaf is held.
  Result<PageGuard> next = tree_->pool()->Fix(id, LatchMode::kShared, HintForNext());
  if (HasDetour(next.status())) return DetourToRight(bound_);
  if (!next.ok()) {
    AtEnd().Ignore();
    return next.status();
  }
  if (!IsLeafOf({next->page(), tree_->pool()->page_size_bytes()}, tree_->index())) {
    AtEnd().Ignore();
    return tree_->ReportDamage(id.page, "it is linked as a leaf but is none of this index");
  }
  walked_from_ = leaf_.id().page;
  leaf_ = std::move(*next);
  slot_ = 0;
  ++leaves_walked_;
  return Status::Ok();
}

/// A seek has descended to the current leaf.
void Cursor::GoOnFrom(PageNumber leaf_before) {
  if (leaf_page_ == leaf_before) return;
  if (leaf_page_ != walked_from_ || walked_from_ == kNoPage) return BeginWalk();
  leaves_ahead_.StepBack();
}

/// Writers of this leaf need not wait for the disk. Only a leaf that is unchanged afterwards proves
/// that its neighbour still exists; damage is found when it is fixed from there.
Status Cursor::PrepareRight(PageId page, bool is_absent) {
  const Bytes bound = View().has_high_key() ? View().high_key() : Bytes();
  const bool lists = detour_ == nullptr && leaves_ahead_.Ask(*tree_, Direction::kForward, bound);
  if (!lists && !is_absent) return Status::Ok();
  known_leaf_ = {leaf_.frame(), leaf_.page(), leaf_.frame()->latch.version()};
  leaf_.Release();
  if (lists) leaves_ahead_.List(*tree_);
  if (is_absent) {
    static_cast<void>(tree_->pool()->Fix(page, LatchMode::kShared, Speculative(HintForNext())));
  }
  if (TryRelatchHere()) return Status::Ok();
  known_leaf_ = {};
  return Status(Code::kRestart);
}

FixHint Cursor::HintForNext() const {
  return leaves_walked_ < kLeavesOfAShortWalk ? hint_ : FixHint::kScan;
}

Status Cursor::SeekBefore(Bytes key) {
  if (stays(Aim::kBefore) && TryRelatchHere()) {
    Result<SlotSearch> found = SlotHereOrNext(Aim::kBefore, key);
    if (found.ok()) {
      StandOn(found->slot);
      return Status::Ok();
    }
    if (!found.status().Is(Code::kNotFound)) return found.status();
  }
  const PageNumber leaf_before = leaf_page_;
  const Status status = DescendBefore(Aim::kBefore, key);
  if (leaf_page_ != leaf_before) BeginWalk();
  NoteWay(Aim::kBefore, leaf_before);
  return status;
}

/// To the last entry before `bound_`, the lower bound of the latched leaf.
Status Cursor::StepToLeft() {
  const PageId id{tree_->space(), descent_.UnlatchedLeafBefore(leaf_page_, bound_)};
  const bool is_absent = id.page != kNoPage && !tree_->pool()->IsResident(id);
  if (detour_ == nullptr && (leaves_ahead_.IsDue() || is_absent)) [[unlikely]] {
    leaf_.Release();
    if (leaves_ahead_.Ask(*tree_, Direction::kBackward, bound_)) leaves_ahead_.List(*tree_);
  }
  ++leaves_walked_;
  return DescendBefore(Aim::kBefore, bound_);
}

void Cursor::StandOn(uint16_t slot) {
  slot_ = slot;
  key_valid_ = false;
  leaf_page_ = leaf_.id().page;
  on_entry_ = true;
}

/// Last entry below the key (kBefore) or of all (kLast). Leaves without such an entry are passed by
/// descending again with their lower bound: entries below it cannot be in them.
Status Cursor::DescendBefore(Aim aim, Bytes key) {
  leaf_.Release();
  key_valid_ = false;
  descent_.TrackLowerBound(&lower_);
  descent_.SetLeafHint(HintForNext());
  Status status;
  for (;;) {
    const DescentTarget target{aim, key};
    status = aim == Aim::kLast ? descent_.ToLeaf(target, LatchMode::kShared, &leaf_)
                               : descent_.ToLeafNearby(target, LatchMode::kShared, &leaf_);
    if (HasDetour(status)) {
      descent_.TrackLowerBound(nullptr);
      return DetourBefore(aim, key);
    }
    if (!status.ok()) break;
    const size_t count = View().count();
    const size_t slot = aim == Aim::kLast ? count : SearchNode(View().page(), key).slot;
    if (slot > 0) {
      StandOn(static_cast<uint16_t>(slot - 1));
      break;
    }
    leaf_.Release();
    if (!descent_.has_lower()) {
      status = AtEnd();
      break;
    }
    bound_.swap(lower_);
    key = bound_;
    aim = Aim::kBefore;
  }
  descent_.TrackLowerBound(nullptr);
  if (!status.ok()) AtEnd().Ignore();
  return status;
}

Status Cursor::SeekFirst() {
  Status status;
  do {
    leaf_.Release();
    BeginWalk();
    status = descent_.ToLeaf({Aim::kFirst, {}}, LatchMode::kShared, &leaf_);
    if (HasDetour(status)) status = ToListed(detour_->First());
    if (!status.ok()) return status;
    slot_ = 0;
    status = SkipEmptyForward();
  } while (status.Is(Code::kRestart));
  return status;
}

Status Cursor::ToListed(const LeafDirectory::Leaf* leaf) {
  leaf_.Release();
  ancestors_.Clear();
  if (leaf == nullptr) return AtEnd();
  Result<PageGuard> page =
      tree_->pool()->Fix({tree_->space(), leaf->page}, LatchMode::kShared, FixHint::kScan);
  if (!page.ok()) return page.status();
  leaf_ = std::move(*page);
  return Status::Ok();
}

/// The last key of the latched leaf, or where it ends.
void Cursor::AssembleBehind(std::vector<std::byte>* key) const {
  const NodeView leaf = View();
  if (leaf.count() != 0) {
    AssembleKey(leaf, leaf.count() - 1, key);
  } else if (leaf.has_high_key()) {
    key->assign(leaf.high_key().begin(), leaf.high_key().end());
  }
}

Status Cursor::DetourToRight(Bytes behind) {
  const Status status = ToListed(detour_->After(behind));
  if (!status.ok()) return status;
  slot_ = 0;
  ++leaves_walked_;
  return status;
}

Status Cursor::DetourBefore(Aim aim, Bytes key) {
  const Status status = ToListed(aim == Aim::kLast ? detour_->Last() : detour_->Before(key));
  if (!status.ok()) return status;
  const size_t slot = aim == Aim::kLast ? View().count() : SearchNode(View().page(), key).slot;
  if (slot == 0) return AtEnd();  // the leaf has changed
  StandOn(static_cast<uint16_t>(slot - 1));
  return status;
}

Status Cursor::SeekLast() {
  BeginWalk();
  return DescendBefore(Aim::kLast, {});
}

Status Cursor::Next() {
  if (!on_entry_) return Status(Code::kEndOfRange);
  for (;;) {
    if (!TryRelatchHere()) {
      ROWAN_CHECK(key_valid_);
      seek_key_ = key_;
      const Status status = SeekAtLeast(seek_key_);
      if (!status.ok()) return status;
      if (!EqualBytes(key(), seek_key_)) return Status::Ok();
    }
    // The way back, in case the leaf changes while the next one is read.
    if (slot_ + 1u >= View().count()) static_cast<void>(key());
    ++slot_;
    const Status status = SkipEmptyForward();
    if (!status.Is(Code::kRestart)) return status;
    key_valid_ = true;  // no other key was assembled since
  }
}

Status Cursor::Prev() {
  if (!on_entry_) return Status(Code::kEndOfRange);
  if (!TryRelatchHere()) {
    ROWAN_CHECK(key_valid_);
    seek_key_ = key_;
    return SeekBefore(seek_key_);
  }
  if (slot_ > 0) {
    --slot_;
    key_valid_ = false;
    return Status::Ok();
  }
  switch (descent_.LowerBoundOf(leaf_page_, key(), &bound_)) {
    case Descent::LowerBound::kKnown: return StepToLeft();
    case Descent::LowerBound::kNone: return AtEnd();
    case Descent::LowerBound::kUnknown: break;
  }
  const Bytes current = key();
  seek_key_.assign(current.begin(), current.end());
  return DescendBefore(Aim::kBefore, seek_key_);
}

Bytes Cursor::key() {
  ROWAN_DCHECK(on_entry_);
  if (!key_valid_) {
    ROWAN_DCHECK(leaf_.held());
    AssembleKey(View(), slot_, &key_);
    key_valid_ = true;
  }
  return key_;
}

Bytes Cursor::value() const { return View().Value(slot_); }

TxnId Cursor::leaf_newest_change() const { return View().newest_change(); }

uint16_t Cursor::leaf_entries() const { return static_cast<uint16_t>(View().count()); }

void Cursor::LetGo() {
  leaf_.Release();
  known_leaf_ = {};
  on_entry_ = false;
  key_valid_ = false;
}

void Cursor::PeekAhead(Direction direction, size_t most, EntryVisit visit) {
  if (!on_entry_ || !TryRelatchHere()) return;
  const NodeView leaf = View();
  std::vector<std::byte> key;
  const bool forward = direction == Direction::kForward;
  const size_t count = std::min<size_t>(most, forward ? leaf.count() - slot_ - 1u : slot_);
  for (size_t i = 1; i <= count; ++i) {
    const size_t slot = forward ? slot_ + i : slot_ - i;
    AssembleKey(leaf, slot, &key);
    visit(key, leaf.Value(slot));
  }
  leaf_.Release();
}

void Cursor::Unlatch() {
  if (!leaf_.held()) return;
  if (on_entry_) static_cast<void>(key());
  KeepLeaf();
}

void Cursor::LeaveEntry() {
  if (leaf_.held()) KeepLeaf();
  on_entry_ = false;
}

void Cursor::KeepLeaf() {
  // No writer is inside while we share the latch: this version is that of the bytes seen.
  known_leaf_ = {leaf_.frame(), leaf_.page(), leaf_.frame()->latch.version()};
  leaf_.Release();
}

}  // namespace rowan
