// SPDX-License-Identifier: GPL-2.0-only
// Consistent scans. A batch never spans leaves: it is what one latch shows. Batches grow from one
// entry to a whole leaf, so a point read copies one row and a long scan latches each leaf once.
#include <algorithm>

#include "base/counters.h"
#include "btree/node.h"
#include "mvcc/row/version_cursor_impl.h"

namespace rowan {

void VersionCursor::Impl::StartBatch(bool scan_forward) {
  if (cursor.has_value() && cursor->latched()) cursor->Unlatch();
  forward = scan_forward;
  finished = false;
  place = Place::kNowhere;
  limit = 1;
  position = 0;
  pending = 0;
  items.clear();
  arena.Clear();
  current_lock_asks = 0;
  current_is_unlocked = false;
  covering = false;
}

Status VersionCursor::Impl::Fill(Status positioned) {
  while (positioned.ok()) {
    Status status = CollectLeaf();
    cursor->Unlatch();
    if (!status.ok()) return status;
    if (pending != 0) {
      status = ResolvePending();
      if (!status.ok()) return status;
    }
    if (!items.empty()) {
      position = 0;
      place = Place::kOnItem;
      return Status::Ok();
    }
    if (finished) return Status(Code::kEndOfRange);
    if (interrupted()) return Status(Code::kInterrupted);
    positioned = forward ? cursor->Next() : cursor->Prev();
  }
  return positioned;
}

Status VersionCursor::Impl::CollectLeaf() {
  const bool decided = LeafIsDecided();
  if (decided && cursor->leaf() != counted_leaf) {
    counted_leaf = cursor->leaf();
    AddCounter(Counter::kLeavesAllVisible);
  }
  const size_t stop = forward ? StopSlot() : 0;
  if (forward && stop < cursor->leaf_entries()) finished = true;
  if (counting && decided) return CountLeaf(stop);
  if (forward && decided) return CopyLeaf(stop);
  size_t slot = cursor->slot();
  if (forward && slot >= stop) return Status::Ok();
  for (;;) {
    const Status status = Consider(decided);
    if (!status.ok()) return status;
    if (forward ? slot + 1 >= stop : slot == 0) return status;
    if (items.size() >= limit) break;
    slot = forward ? slot + 1 : slot - 1;
    cursor->MoveTo(static_cast<uint16_t>(slot));
  }
  finished = false;  // the batch is full, the leaf is not done
  return Status::Ok();
}

Status VersionCursor::Impl::CopyLeaf(size_t stop) {
  const NodeView leaf = cursor->View();
  size_t slot = cursor->slot();
  for (; slot < stop; ++slot) {
    if (items.size() >= limit) {
      finished = false;  // the batch is full, the leaf is not done
      break;
    }
    const Status status = CopyDecided(leaf, slot);
    if (!status.ok()) return status;
  }
  // The next batch goes on behind the last entry looked at.
  if (slot > cursor->slot()) cursor->MoveTo(static_cast<uint16_t>(slot - 1));
  return Status::Ok();
}

Status VersionCursor::Impl::CountLeaf(size_t stop) {
  const NodeView leaf = cursor->View();
  for (size_t slot = cursor->slot(); slot < stop; ++slot) {
    const Bytes value = leaf.Value(slot);
    if (value.empty()) return Damage("an entry without a header");
    counted += (static_cast<uint8_t>(value[0]) & kRowDeleted) == 0 ? 1 : 0;
  }
  cursor->MoveTo(static_cast<uint16_t>(leaf.count() - 1));
  return Status::Ok();
}

size_t VersionCursor::Impl::StopSlot() {
  const NodeView leaf = cursor->View();
  const size_t count = leaf.count();
  if (!has_end) return count;
  const auto before_end = [&](size_t slot) {
    const Bytes prefix = leaf.prefix();
    const size_t shared = std::min(prefix.size(), end_key.size());
    const int order = CompareBytes(prefix.first(shared), Bytes(end_key).first(shared));
    if (order != 0 || shared < prefix.size()) return order < 0;
    return CompareBytes(leaf.Suffix(slot), Bytes(end_key).subspan(shared)) < 0;
  };
  if (before_end(count - 1)) return count;
  size_t low = cursor->slot();
  size_t high = count - 1;  // not before the end
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (before_end(middle)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

Status VersionCursor::Impl::Consider(bool decided) {
  if (decided) return CopyDecided(cursor->View(), cursor->slot());
  const Bytes value = cursor->value();
  if (value.empty()) return Damage("an entry without a header");
  return index->clustered ? ConsiderRow(value) : ConsiderEntry(value);
}

Status VersionCursor::Impl::CopyDecided(const NodeView& leaf, size_t slot) {
  const Bytes value = leaf.Value(slot);
  if (value.empty()) return Damage("an entry without a header");
  if ((static_cast<uint8_t>(value[0]) & kRowDeleted) != 0) return Status::Ok();
  if (index->clustered) {
    if (value.size() < kClusteredHeaderBytes) return Damage("a row shorter than its header");
    CopyFrom(leaf, slot, value.subspan(kClusteredHeaderBytes), false);
    return Status::Ok();
  }
  SecondaryHeader header;
  Bytes payload;
  if (!ParseSecondary(value, &header, &payload)) return Damage("an entry shorter than its header");
  CopyFrom(leaf, slot, payload, header.has_ordinal);
  return Status::Ok();
}

Status VersionCursor::Impl::ConsiderRow(Bytes value) {
  ClusteredHeader header;
  Bytes row;
  if (!ParseClustered(value, &header, &row)) return Damage("a row shorter than its header");
  if (visible(header.txn)) {
    if (!header.deleted) Copy(row, false);
    return Status::Ok();
  }
  if (header.undo.IsNone()) return Status::Ok();
  if (!manager->IsActive(header.txn)) {
    CopyPending(header, row);
    return Status::Ok();
  }
  // The writer may roll back, but not past the latch that we hold: step over its versions now.
  const TxnId writer = header.txn;
  versions.Start(header, row);
  while (versions.header().txn == writer) {
    const Status status = versions.StepBack();
    if (status.Is(Code::kNotFound)) return Status::Ok();
    if (!status.ok()) return status;
  }
  if (!visible(versions.header().txn)) {
    CopyPending(versions.header(), versions.row());
  } else if (!versions.header().deleted) {
    Copy(versions.row(), false);
  }
  return Status::Ok();
}

Status VersionCursor::Impl::ConsiderEntry(Bytes value) {
  SecondaryHeader header;
  Bytes payload;
  if (!ParseSecondary(value, &header, &payload)) return Damage("an entry shorter than its header");
  const bool created = visible(header.creator);
  const bool deleted = header.deleter != kNoTxn && visible(header.deleter);
  bool shown = created && !deleted;
  const bool settled = created && (deleted || header.deleter == kNoTxn);
  if (!settled && !txn->newer_rows.empty(txn->txn_id()) &&
      IsOfNewerRow(StripOrdinal(cursor->key(), header.has_ordinal))) {
    shown = header.deleter == kNoTxn;
  }
  if (shown) Copy(payload, header.has_ordinal);
  return Status::Ok();
}

bool VersionCursor::Impl::IsOfNewerRow(Bytes entry_key) {
  if (options.row_key.find == nullptr) {
    return txn->newer_rows.ContainsTail(index->table, entry_key);
  }
  Bytes row_key;
  return options.row_key.find(options.row_key.context, entry_key, &row_key_scratch, &row_key) &&
         txn->newer_rows.Contains(index->table, row_key);
}

void VersionCursor::Impl::Copy(Bytes value, bool has_ordinal) {
  if (counting) {
    ++counted;
    return;
  }
  CopyFrom(cursor->View(), cursor->slot(), value, has_ordinal);
}

void VersionCursor::Impl::CopyFrom(const NodeView& leaf, size_t slot, Bytes value,
                                   bool has_ordinal) {
  const Bytes prefix = leaf.prefix();
  const Bytes suffix = leaf.Suffix(slot);
  BatchItem& item = items.emplace_back();
  item.key_bytes = static_cast<uint32_t>(prefix.size() + suffix.size());
  item.value_bytes = static_cast<uint32_t>(value.size());
  item.key_offset = arena.Append(prefix, suffix, value);
  item.value_offset = item.key_offset + item.key_bytes;
  item.has_ordinal = has_ordinal;
}

void VersionCursor::Impl::CopyPending(const ClusteredHeader& header, Bytes row) {
  const bool was_counting = counting;
  counting = false;
  Copy(row, false);
  counting = was_counting;
  items.back().pending = true;
  items.back().header = header;
  ++pending;
}

Status VersionCursor::Impl::ResolvePending() {
  size_t kept = 0;
  for (BatchItem& item : items) {
    bool exists = true;
    if (item.pending) {
      const Status status = BuildVisible(&item, &exists);
      if (!status.ok()) return status;
    }
    if (exists) items[kept++] = item;
  }
  items.resize(kept);
  pending = 0;
  return Status::Ok();
}

Status VersionCursor::Impl::BuildVisible(BatchItem* item, bool* exists) {
  // All versions that are stepped over are committed and invisible: purge keeps their undo for us.
  versions.Start(item->header, arena.At(item->value_offset, item->value_bytes));
  do {
    const Status status = versions.StepBack();
    if (status.Is(Code::kNotFound)) {
      *exists = false;
      return Status::Ok();
    }
    if (!status.ok()) return status;
  } while (!visible(versions.header().txn));
  *exists = !versions.header().deleted;
  item->pending = false;
  if (!*exists) return Status::Ok();
  const Bytes row = versions.row();
  item->value_bytes = static_cast<uint32_t>(row.size());
  item->value_offset = arena.Append(row);
  return Status::Ok();
}

bool VersionCursor::Impl::AtKey(Bytes key) {
  const Bytes tree_key = cursor->key();
  if (tree_key.size() == key.size()) return EqualBytes(tree_key, key);
  if (index->clustered || tree_key.size() != key.size() + kOrdinalBytes) return false;
  const Bytes value = cursor->value();
  return !value.empty() && (static_cast<uint8_t>(value[0]) & kEntryHasOrdinal) != 0 &&
         EqualBytes(tree_key.first(key.size()), key);
}

Status VersionCursor::Impl::Exact(Bytes key, Status positioned) {
  // Entries of one secondary key stand side by side, at most one of them live or visible.
  while (positioned.ok() && AtKey(key)) {
    Status status = locking() ? LockCandidate(false) : Consider(LeafIsDecided());
    if (status.Is(Code::kLockWait)) {
      positioned = WaitAndReturn();
      continue;
    }
    if (!status.ok() && !status.Is(Code::kNotFound)) return status;
    cursor->Unlatch();
    if (pending != 0) {
      status = ResolvePending();
      if (!status.ok()) return status;
    }
    if (!items.empty()) {
      position = 0;
      place = Place::kOnItem;
      return Status::Ok();
    }
    if (index->clustered) return Status(Code::kNotFound);
    positioned = cursor->Next();
  }
  return positioned.ok() ? Status(Code::kNotFound) : positioned;
}

Result<uint64_t> VersionCursor::Impl::Count(const std::atomic<bool>* interrupted) {
  Status moved;
  if (place == Place::kOnItem) {
    const Bytes key = arena.At(items[position].key_offset, items[position].key_bytes);
    seek_key.assign(key.begin(), key.end());
    StartBatch(true);
    moved = cursor->SeekAtLeast(seek_key);
  } else {
    StartBatch(true);
    moved = cursor->SeekFirst();
  }
  counting = true;
  counted = 0;
  limit = SIZE_MAX;
  const Status status = CountFrom(moved, interrupted);
  counting = false;
  if (cursor->latched()) cursor->Unlatch();
  if (!status.ok()) return status;
  return counted;
}

Status VersionCursor::Impl::CountFrom(Status positioned, const std::atomic<bool>* interrupted) {
  for (; positioned.ok(); positioned = cursor->Next()) {
    Status status = CollectLeaf();
    cursor->Unlatch();
    if (!status.ok()) return status;
    status = ResolvePending();
    if (!status.ok()) return status;
    counted += items.size();
    items.clear();
    arena.Clear();
    if (finished) return Status::Ok();
    if (interrupted != nullptr && interrupted->load(std::memory_order_relaxed)) {
      return Status(Code::kInterrupted);
    }
  }
  return positioned.Is(Code::kEndOfRange) ? Status::Ok() : positioned;
}

}  // namespace rowan
