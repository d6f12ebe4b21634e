// SPDX-License-Identifier: GPL-2.0-only
#include "mvcc/row/snapshot_scan.h"

#include <algorithm>
#include <cstring>

#include "base/counters.h"
#include "btree/node.h"
#include "btree/node_search.h"
#include "mvcc/row/leaf_copy.h"

namespace rowan {

Status SnapshotScan::Collect(Status positioned) {
  ++scan_->batches;
  for (;; positioned = scan_->Step()) {
    if (note_->growing()) {
      const Status noted = note_->Cover(&positioned);
      if (!noted.ok()) return noted;
    }
    if (!positioned.ok()) return positioned;
    const uint16_t first = scan_->cursor->slot();
    Status status = CollectLeaf();
    CountExamined(first);
    if (note_->growing()) note_->Pass();
    scan_->cursor->Unlatch();
    if (!status.ok()) return status;
    if (!pending_.empty()) {
      status = ResolvePending();
      if (!status.ok()) return status;
    }
    if (!scan_->items.empty()) {
      scan_->StandOnFirst();
      return Status::Ok();
    }
    if (scan_->finished) return Status(Code::kEndOfRange);
    if (scan_->interrupted()) return Status(Code::kInterrupted);
    scan_->ClearBatch();  // of what turned out to be invisible
  }
}

void SnapshotScan::CountExamined(uint16_t first) {
  const uint16_t last = scan_->cursor->slot();
  scan_->counts.examined_entries += 1u + (last > first ? last - first : first - last);
  scan_->counts.examined_bytes += scan_->copied_bytes;  // batches begin empty
}

Status SnapshotScan::CollectLeaf() {
  const bool decided = LeafIsDecided() || ProveLeaf();
  if (decided && scan_->cursor->leaf() != counted_leaf_) {
    counted_leaf_ = scan_->cursor->leaf();
    AddCounter(Counter::kLeavesAllVisible);
  }
  const size_t stop = scan_->forward() ? StopSlot() : 0;
  if (scan_->forward() && (stop < scan_->cursor->leaf_entries() || LeafReachesEnd())) {
    scan_->finished = true;
  }
  if (decided) return counting_ ? CountLeaf(stop) : CopyLeaf(stop);
  if (counting_) return CountUndecided(stop);
  size_t slot = scan_->cursor->slot();
  if (scan_->forward() && slot >= stop) return Status::Ok();
  for (;;) {
    const Status status = Consider();
    if (!status.ok()) return status;
    if (scan_->forward() ? slot + 1 >= stop : slot == 0) return status;
    if (scan_->items.size() >= scan_->limit) break;
    slot = scan_->forward() ? slot + 1 : slot - 1;
    scan_->cursor->MoveTo(static_cast<uint16_t>(slot));
  }
  scan_->finished = false;  // the batch is full, the leaf is not done
  return Status::Ok();
}

Status SnapshotScan::CopyLeaf(size_t stop) {
  const size_t first = scan_->cursor->slot();
  const size_t slots = scan_->forward() ? stop - first : first + 1;
  const size_t items_before = scan_->items.size();
  size_t looked = 0;
  const Status copied = CopyDecided(scan_, slots, &looked);
  if (!copied.ok()) return copied;
  if (looked < slots) scan_->finished = false;  // the batch is full, the leaf is not done
  if (looked == scan_->cursor->leaf_entries()) NoteLeaf(scan_->items.size() - items_before);
  // The next batch goes on after the last entry looked at.
  if (looked <= 1) return Status::Ok();
  const size_t last = scan_->forward() ? first + looked - 1 : first - (looked - 1);
  scan_->cursor->MoveTo(static_cast<uint16_t>(last));
  return Status::Ok();
}

size_t SnapshotScan::StopSlot() {
  const NodeView leaf = scan_->cursor->View();
  if (!scan_->has_end()) return leaf.count();
  // By the heads in the slots: the entries of a leaf met for a single one are not in the caches.
  return SearchNodeFrom(leaf.page(), scan_->cursor->slot(), scan_->end_key).slot;
}

bool SnapshotScan::LeafReachesEnd() const {
  if (!scan_->has_end()) return false;
  const NodeView leaf = scan_->cursor->View();
  return leaf.has_high_key() && CompareBytes(leaf.high_key(), scan_->end_key) >= 0;
}

Status SnapshotScan::Consider() {
  const Bytes value = scan_->cursor->value();
  if (value.empty()) return scan_->Damage("an entry without a header");
  return scan_->index->clustered ? ConsiderRow(value) : ConsiderEntry(value);
}

Status SnapshotScan::ConsiderRow(Bytes value) {
  ClusteredHeader header;
  Bytes row;
  if (!ParseClustered(value, &header, &row)) return scan_->Damage("a row shorter than its header");
  if (visible(header.txn)) return header.deleted ? Status::Ok() : Copy(row, false);
  if (header.undo.IsNone()) return Status::Ok();
  if (!scan_->manager->IsActive(header.txn)) return CopyPending(header, row);
  // The writer may roll back, but not past the latch that we hold: step over its versions now.
  const TxnId writer = header.txn;
  scan_->versions.Start(header, row);
  while (scan_->versions.header().txn == writer) {
    const Status status = scan_->versions.StepBack();
    if (status.Is(Code::kNotFound)) return Status::Ok();
    if (!status.ok()) return status;
  }
  const ClusteredHeader& older = scan_->versions.header();
  if (!visible(older.txn)) return CopyPending(older, scan_->versions.row());
  return older.deleted ? Status::Ok() : Copy(scan_->versions.row(), false);
}

Status SnapshotScan::ConsiderEntry(Bytes value) {
  SecondaryHeader header;
  Bytes payload;
  if (!ParseSecondary(value, &header, &payload)) {
    return scan_->Damage("an entry shorter than its header");
  }
  const bool created = visible(header.creator);
  const bool deleted = header.deleter != kNoTxn && visible(header.deleter);
  bool shown = created && !deleted;
  const bool settled = created && (deleted || header.deleter == kNoTxn);
  if (!settled && !scan_->txn->rows_ahead.empty(scan_->txn->txn_id()) &&
      IsOfRowAheadOfSnapshot(StripRepeat(scan_->cursor->key(), header.has_repeat))) {
    shown = header.deleter == kNoTxn;
  }
  return shown ? Copy(payload, header.has_repeat) : Status::Ok();
}

void SnapshotScan::NoteNewer(TxnId writer) {
  scan_->manager->serial()->NoteWriter(scan_->txn, writer).Ignore();
}

bool SnapshotScan::IsOfRowAheadOfSnapshot(Bytes entry_key) {
  if (scan_->options.row_key.find == nullptr) {
    return scan_->txn->rows_ahead.ContainsTail(scan_->index->table, entry_key);
  }
  Bytes row_key;
  return scan_->options.row_key.find(scan_->options.row_key.context, entry_key, &row_key_scratch_,
                                     &row_key) &&
         scan_->txn->rows_ahead.Contains(scan_->index->table, row_key);
}

Status SnapshotScan::CopyPending(const ClusteredHeader& header, Bytes row) {
  const Status status = scan_->Copy(row, false);
  if (!status.ok()) return status;
  scan_->items.back().pending = true;
  pending_.push_back(header);
  return status;
}

Status SnapshotScan::ResolvePending() {
  size_t kept = 0;
  size_t resolved = 0;
  for (BatchItem& item : scan_->items) {
    bool exists = true;
    if (item.pending) {
      const Status status = BuildVisible(pending_[resolved++], &item, &exists);
      if (!status.ok()) return status;
    }
    if (exists) scan_->items[kept++] = item;
  }
  scan_->items.resize(kept);
  pending_.clear();
  return Status::Ok();
}

Status SnapshotScan::BuildVisible(const ClusteredHeader& header, BatchItem* item, bool* exists) {
  // All versions that are stepped over are committed and invisible: purge keeps their undo for us.
  scan_->versions.Start(header, scan_->arena.At(item->value_offset, item->value_bytes));
  do {
    const Status status = scan_->versions.StepBack();
    if (status.Is(Code::kNotFound)) {
      *exists = false;
      return Status::Ok();
    }
    if (!status.ok()) return status;
  } while (!visible(scan_->versions.header().txn));
  *exists = !scan_->versions.header().deleted;
  item->pending = false;
  if (!*exists) return Status::Ok();
  const Bytes row = scan_->versions.row();
  item->value_bytes = static_cast<uint32_t>(row.size());
  item->value_offset = scan_->arena.Append(row);
  return Status::Ok();
}

/// The copy is a row of the tree if the leaf validates after it was made. Whether a snapshot sees
/// the row's newest version is then up to the id in the copy alone. An older version is left to
/// Get, as a latch keeps the writer's rollback from overtaking the reader.
std::optional<Status> SnapshotScan::TryGetUnlatched(Bytes key) {
  UnlatchedEntry entry;
  if (!scan_->cursor->TryFindUnlatched(key, &entry)) return {};
  if (!entry.exists) {
    return entry.leaf.Validate() ? std::optional(Status(Code::kNotFound)) : std::nullopt;
  }
  const size_t bytes = key.size() + entry.value.size();
  if (entry.value.size() < kClusteredHeaderBytes) return {};
  std::byte* const target = scan_->arena.Reserve(bytes);
  std::memcpy(target, key.data(), key.size());
  UnlatchedCopy(entry.value, target + key.size());
  if (!entry.leaf.Validate()) return {};
  ClusteredHeader header;
  Bytes row;
  if (!ParseClustered({target + key.size(), entry.value.size()}, &header, &row)) return {};
  const bool any_version = scan_->options.mode == ReadMode::kReadUncommitted;
  // Validated again after the question: a writer whose rollback has ended leaves no answer behind,
  // and by then it has changed the leaf.
  if (!any_version && (!visible(header.txn) || !entry.leaf.Validate())) return {};
  ++scan_->counts.examined_entries;
  if (header.deleted) return Status(Code::kNotFound);
  scan_->counts.examined_bytes += bytes - kClusteredHeaderBytes;
  scan_->items.push_back({.key_offset = 0,
                          .value_offset = static_cast<uint32_t>(key.size() + kClusteredHeaderBytes),
                          .value_bytes = static_cast<uint32_t>(row.size()),
                          .key_bytes = static_cast<uint16_t>(key.size())});
  scan_->arena.Commit(bytes);
  scan_->StandOnFirst();
  scan_->alone = true;
  return Status::Ok();
}

Status SnapshotScan::Get(Bytes key, Status positioned) {
  if (scan_->index->clustered) return positioned.ok() ? TakeAlone() : positioned;
  // Entries of one secondary key stand side by side, at most one of them live or visible.
  while (positioned.ok() && scan_->AtKey(key)) {
    const Status status = TakeAlone();
    if (!status.Is(Code::kNotFound)) return status;
    positioned = scan_->cursor->Next();
  }
  return positioned.ok() ? Status(Code::kNotFound) : positioned;
}

Status SnapshotScan::TakeAlone() {
  size_t looked = 0;
  Status status = LeafIsDecided() ? CopyDecided(scan_, 1, &looked) : Consider();
  if (!status.ok()) return status;
  CountExamined(scan_->cursor->slot());
  if (scan_->index->clustered) {
    scan_->cursor->LeaveEntry();
  } else {
    scan_->cursor->Unlatch();
  }
  if (!pending_.empty()) {
    status = ResolvePending();
    if (!status.ok()) return status;
  }
  if (scan_->items.empty()) return Status(Code::kNotFound);
  scan_->StandOnFirst();
  scan_->alone = true;
  return Status::Ok();
}

}  // namespace rowan
