// SPDX-License-Identifier: GPL-2.0-only
// Counting visible entries, and finding one by its number. What the visibility map tells is taken
// from there (btree/map_walk.h); what it does not, is counted leaf by leaf, and told to the map.
// The entries of a range that a snapshot sees do not change, so parts of the range may be counted
// at different times.
#include <algorithm>

#include "base/counters.h"
#include "btree/map_walk.h"
#include "mvcc/row/garbage.h"
#include "mvcc/row/snapshot_scan.h"

namespace rowan {

TxnId SnapshotScan::map_horizon() const {
  // Who has to know of changes beside it must latch the leaves that it counts.
  if (scan_->txn->serial != nullptr) return kNoTxn;
  return scan_->options.mode == ReadMode::kReadUncommitted ? TxnId(kTxnIdLimit)
                                                           : scan_->txn->snapshot.low_txn;
}

Result<uint64_t> SnapshotScan::Count(Bytes from, Bytes end) {
  if (scan_->options.detour != nullptr) {  // the map's way is by inner pages
    uint64_t count = 0;
    const Result<bool> more = CountStretch(from, end, UINT64_MAX, &count);
    if (!more.ok()) return more.status();
    return count;
  }
  MapWalk walk(&scan_->index->tree, map_horizon());
  walk.Start(from, end);
  uint64_t total = 0;
  while (!walk.done()) {
    const Status walked = walk.Forward(UINT64_MAX);
    if (!walked.ok()) return walked;
    total += walk.entries();
    if (!walk.has_stretch()) continue;
    uint64_t count = 0;
    Result<bool> more = CountStretch(walk.stretch_from(), walk.stretch_end(), UINT64_MAX, &count);
    if (!more.ok()) return more.status();
    total += count;
    walk.Visited();
  }
  return total;
}

Status SnapshotScan::Find(Bytes from, Bytes end, Ordinal ordinal, std::vector<std::byte>* key) {
  MapWalk walk(&scan_->index->tree, map_horizon());
  walk.Start(from, end);
  const bool forward = ordinal.direction == Direction::kForward;
  uint64_t left = ordinal.number;
  while (!walk.done()) {
    const Status walked = forward ? walk.Forward(left) : walk.Backward(left);
    if (!walked.ok()) return walked;
    left -= walk.entries();
    if (!walk.has_stretch()) continue;
    uint64_t count = 0;
    Result<bool> more =
        CountStretch(walk.stretch_from(), walk.stretch_end(), forward ? left : UINT64_MAX, &count);
    if (!more.ok()) return more.status();
    if (*more) return FindAmong(past_key_, walk.stretch_end(), left - count, key);
    if (!forward && count > left) {
      return FindAmong(walk.stretch_from(), walk.stretch_end(), count - 1 - left, key);
    }
    left -= count;
    walk.Visited();
  }
  return Status(Code::kEndOfRange);
}

Result<bool> SnapshotScan::CountStretch(Bytes from, Bytes end, uint64_t most, uint64_t* count) {
  scan_->StartBatch(Direction::kForward);
  StartBatch();
  scan_->limit = SIZE_MAX;
  scan_->end_key.assign(end.begin(), end.end());
  *count = 0;
  Status moved = scan_->cursor->SeekAtLeast(from);
  for (; moved.ok(); moved = scan_->cursor->Next()) {
    if (most != UINT64_MAX) {
      const Bytes key = scan_->cursor->key();
      past_key_.assign(key.begin(), key.end());
    }
    counted_ = 0;
    const Status status = CountOneLeaf();
    if (!status.ok()) return status;
    if (counted_ > most - *count) return true;
    *count += counted_;
    if (scan_->finished) return false;
    if (scan_->interrupted()) return Status(Code::kInterrupted);
  }
  if (!moved.Is(Code::kEndOfRange)) return moved;
  return false;
}

/// Adds the visible entries of the latched leaf from the current one on to `counted_`.
Status SnapshotScan::CountOneLeaf() {
  counting_ = true;
  Status status = CollectLeaf();
  counting_ = false;
  scan_->cursor->Unlatch();
  if (!status.ok()) return status;
  status = ResolvePending();
  counted_ += scan_->items.size();
  scan_->ClearBatch();
  return status;
}

Status SnapshotScan::FindAmong(Bytes from, Bytes end, uint64_t number,
                               std::vector<std::byte>* key) {
  scan_->StartBatch(Direction::kForward);
  StartBatch();
  scan_->end_key.assign(end.begin(), end.end());
  Status moved = scan_->cursor->SeekAtLeast(from);
  for (;; moved = scan_->Step()) {
    scan_->ClearBatch();
    if (moved.ok()) PassEntries(&number);
    scan_->limit = number + 1;
    moved = Collect(moved);
    if (!moved.ok()) return moved;
    if (number < scan_->items.size()) {
      const Bytes found = scan_->KeyOf(scan_->items[number]);
      key->assign(found.begin(), found.end());
      return Status::Ok();
    }
    number -= scan_->items.size();
    if (scan_->finished) return Status(Code::kEndOfRange);
  }
}

void SnapshotScan::PassEntries(uint64_t* number) {
  if (!LeafIsDecided()) return;
  const NodeView leaf = scan_->cursor->View();
  const size_t stop = StopSlot();
  size_t slot = scan_->cursor->slot();
  const LeafWord word = scan_->index->tree.leaf_map().Get(scan_->cursor->leaf());
  if (word.known() && word.clean()) {
    const size_t passed = std::min<uint64_t>(*number, stop > slot ? stop - slot - 1 : 0);
    *number -= passed;
    slot += passed;
  }
  for (; *number != 0 && slot + 1 < stop; ++slot) {
    const Bytes value = leaf.Value(slot);
    if (value.empty()) break;  // damage, which whoever collects it tells of
    *number -= IsMarked(value) ? 0 : 1;
  }
  scan_->cursor->MoveTo(static_cast<uint16_t>(slot));
}

Status SnapshotScan::CountLeaf(size_t stop) {
  const NodeView leaf = scan_->cursor->View();
  const size_t first = scan_->cursor->slot();
  const LeafWord word = scan_->index->tree.leaf_map().Get(scan_->cursor->leaf());
  scan_->cursor->MoveTo(static_cast<uint16_t>(leaf.count() - 1));
  if (word.known() && word.clean()) {
    counted_ += stop > first ? stop - first : 0;
    return Status::Ok();
  }
  // The map learns of a leaf that is only counted in part, too: the ends of ranges are met again.
  const size_t end = word.known() ? stop : leaf.count();
  size_t live = 0;
  for (size_t slot = word.known() ? first : 0; slot < end; ++slot) {
    const Bytes value = leaf.Value(slot);
    if (value.empty()) return scan_->Damage("an entry without a header");
    if (IsMarked(value)) continue;
    ++live;
    counted_ += slot >= first && slot < stop ? 1 : 0;
  }
  NoteLeaf(live);
  return Status::Ok();
}

bool SnapshotScan::IsDecided(Bytes value, bool* counts) {
  Bytes rest;
  if (scan_->index->clustered) {
    ClusteredHeader row;
    if (!ParseClustered(value, &row, &rest) || !visible(row.txn)) return false;
    *counts = !row.deleted;
    return true;
  }
  SecondaryHeader entry;
  if (!ParseSecondary(value, &entry, &rest)) return false;
  const bool created = visible(entry.creator);
  const bool deleted = entry.deleter != kNoTxn && visible(entry.deleter);
  *counts = created && !deleted;
  const bool settled = created && (deleted || entry.deleter == kNoTxn);
  return settled || scan_->txn->rows_ahead.empty(scan_->txn->txn_id());
}

Status SnapshotScan::CountUndecided(size_t stop) {
  const NodeView leaf = scan_->cursor->View();
  const size_t first = scan_->cursor->slot();
  const bool notes = scan_->forward() && first == 0 && stop == leaf.count() &&
                     !scan_->index->tree.leaf_map().Get(scan_->cursor->leaf()).known();
  if (notes) NoteLeaf(WordOf(leaf).live());
  for (size_t slot = first; slot < stop; ++slot) {
    bool counts = false;
    if (IsDecided(leaf.Value(slot), &counts)) {
      counted_ += counts ? 1 : 0;
      continue;
    }
    scan_->cursor->MoveTo(static_cast<uint16_t>(slot));
    const Status status = Consider();
    if (!status.ok()) return status;
  }
  scan_->cursor->MoveTo(static_cast<uint16_t>(leaf.count() - 1));
  return Status::Ok();
}

bool SnapshotScan::ProveLeaf() {
  const NodeView leaf = scan_->cursor->View();
  const bool takes_all =
      scan_->forward() && scan_->cursor->slot() == 0 && (counting_ || scan_->limit >= leaf.count());
  if (!takes_all) return false;
  TxnId seen;
  const auto is_seen = [&](TxnId writer) {
    if (writer == seen) return true;
    seen = writer;
    return IsSeenByAll(*scan_->manager, writer);
  };
  size_t live = 0;
  for (size_t slot = 0; slot < leaf.count(); ++slot) {
    const Bytes value = leaf.Value(slot);
    ClusteredHeader row;
    SecondaryHeader entry;
    Bytes rest;
    const bool proven = scan_->index->clustered
                            ? ParseClustered(value, &row, &rest) && is_seen(row.txn)
                            : ParseSecondary(value, &entry, &rest) && is_seen(entry.creator) &&
                                  is_seen(entry.deleter);
    if (!proven) return false;
    live += IsMarked(value) ? 0 : 1;
  }
  scan_->index->tree.NoteLeaf(scan_->cursor->leaf(), {live, leaf.count(), kNoTxn});
  return true;
}

void SnapshotScan::NoteLeaf(size_t live) {
  Tree& tree = scan_->index->tree;
  const PageNumber page = scan_->cursor->leaf();
  if (tree.leaf_map().Get(page).known()) return;
  const NodeView leaf = scan_->cursor->View();
  tree.NoteLeaf(page, {live, leaf.count(), leaf.newest_change()});
}

}  // namespace rowan
