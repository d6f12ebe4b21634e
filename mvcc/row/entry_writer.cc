// SPDX-License-Identifier: GPL-2.0-only
#include "mvcc/row/entry_writer.h"

#include <algorithm>

#include "base/assertions.h"
#include "base/key_prefix.h"
#include "base/out_of_memory.h"
#include "mvcc/row/garbage.h"
#include "mvcc/row/implicit_lock.h"
#include "mvcc/row/row_undo_format.h"
#include "mvcc/row/row_value.h"

namespace rowan {
namespace {

constexpr uint32_t kRepeatMax = UINT32_MAX - 1;  // UINT32_MAX bounds the search for the last one

bool ParseEntry(const RowChange& change, const LeafPosition& position, SecondaryHeader* header,
                Bytes* payload, Status* status) {
  if (ParseSecondary(change.index->tree.ValueAt(position), header, payload)) return true;
  *status =
      change.index->ReportDamage(position.leaf.id.page, "an entry is shorter than its header");
  return false;
}

/// The undo record of an entry's change, then nothing more can fail.
Status LogEntryUndo(RowChange* change, MiniTxn* mini_txn, UndoType type, uint8_t flags) {
  const std::byte head[1] = {static_cast<std::byte>(flags)};
  return change->manager->undo()
      ->Append(mini_txn, change->txn, type, change->index->id(), {Bytes(head), change->tree_key})
      .status();
}

/// Waits for whoever is still deciding about the entry, as its creator or its deleter.
Status LockBoth(RowChange* change, const LockTarget& key, const SecondaryHeader& header) {
  const Status status = LockImplicit(change->manager, change->txn, header.creator, key,
                                     LockMode::kExclusive, WaitPolicy::kWait);
  if (!status.ok()) return status;
  return LockImplicit(change->manager, change->txn, header.deleter, key, LockMode::kExclusive,
                      WaitPolicy::kWait);
}

Status CheckEntrySize(const Index& index, size_t tree_key_bytes, size_t payload_bytes) {
  const uint32_t page_size = index.tree.pool()->page_size_bytes();
  if (tree_key_bytes <= Tree::MaxKeyBytes(page_size) &&
      tree_key_bytes + kSecondaryHeaderBytesMax + payload_bytes <= Tree::MaxEntryBytes(page_size)) {
    return Status::Ok();
  }
  return Status(Code::kTooBig, "the index entry is too large for the page size");
}

}  // namespace

struct EntryWriter::Insertion {
  Txn* txn = nullptr;
  Index* index = nullptr;
  const IndexEntry& entry;
  Bytes unproven;  ///< a unique value: insert only if the leaf alone proves that it is new
};

Status EntryWriter::Insert(Txn* txn, Index* index, const IndexEntry& entry,
                           LockMode duplicate_mode) {
  Status status = manager_->AssignId(txn);
  if (!status.ok()) return status;
  Insertion write{txn, index, entry, {}};
  if (entry.unique_prefix_bytes == 0) {
    status = PutEntry(write);
    return status.Is(Code::kDuplicate) ? ReplacePayload(txn, index, entry) : status;
  }

  const Bytes value = entry.key.first(entry.unique_prefix_bytes);
  if (txn->serial != nullptr) {
    // Before its leaves are looked at: whoever takes the value next, after this entry has gone
    // again, has to know that it was free.
    PrefixSuccessor(value, &value_end_);
    status = manager_->serial()->NoteRead(
        txn, index->id(), {.low = value, .high = value_end_, .unbounded = value_end_.empty()});
    if (!status.ok()) return status;
  }
  write.unproven = value;
  status = PutAt(write, entry.key, false);
  if (!status.Is(Code::kBusy)) return status;
  write.unproven = {};
  return InsertUnique(write, value, duplicate_mode);
}

Status EntryWriter::InsertUnique(const Insertion& write, Bytes value, LockMode duplicate_mode) {
  const LockTarget value_lock = MakeLockKey(write.index->id(), value);
  LockTable* locks = manager_->locks();
  for (;;) {
    Status status = locks->TryLock(write.txn, value_lock, LockMode::kExclusive,
                                   LockKind::kUniqueValue, WaitPolicy::kWait);
    if (status.Is(Code::kLockWait)) status = locks->Wait(write.txn);
    if (!status.ok()) return status;
    status = OrOutOfMemory([&] { return CheckAndPut(write, value, duplicate_mode); });
    // From here on the entry itself is what the next inserter of this value finds and waits for.
    // And who has to wait for an entry must not keep its owner from inserting the value again.
    locks->Unlock(write.txn, value_lock, LockMode::kExclusive, LockKind::kUniqueValue);
    if (!status.Is(Code::kLockWait)) return status;
    status = locks->Wait(write.txn);
    if (!status.ok()) return status;
  }
}

Status EntryWriter::CheckAndPut(const Insertion& write, Bytes value, LockMode duplicate_mode) {
  const Status status = unique_.Run(write.txn, write.index, value, duplicate_mode);
  if (!status.ok()) return status;
  return PutEntry(write);
}

Status EntryWriter::Delete(Txn* txn, Index* index, Bytes key) {
  Status status = manager_->AssignId(txn);
  if (!status.ok()) return status;
  status = MarkAt(txn, index, key, key);
  if (!status.Is(Code::kNotFound)) return status;
  uint32_t repeat = 0;
  status = FindLastRepeat(index, key, &repeat);
  if (!status.ok()) return status;
  return repeat == 0 ? Status(Code::kNotFound) : MarkAt(txn, index, key, WithRepeat(key, repeat));
}

Status EntryWriter::ReplacePayload(Txn* txn, Index* index, const IndexEntry& entry) {
  const Status status = Delete(txn, index, entry.key);
  if (!status.ok()) return status;
  return PutEntry({txn, index, entry, {}});
}

Status EntryWriter::PutEntry(const Insertion& write) {
  // kSkipped: the place is taken by an interval that somebody may still need.
  Status status = PutAt(write, write.entry.key, false);
  while (status.Is(Code::kSkipped)) {
    uint32_t repeat = 0;
    status = FindLastRepeat(write.index, write.entry.key, &repeat);
    if (!status.ok()) return status;
    if (repeat > 0) {
      status = PutAt(write, WithRepeat(write.entry.key, repeat), true);
      if (!status.Is(Code::kSkipped)) return status;
    }
    if (repeat == kRepeatMax) return Status(Code::kBusy, "too many versions of one index entry");
    status = PutAt(write, WithRepeat(write.entry.key, repeat + 1), true);
  }
  return status;
}

Status EntryWriter::PutAt(const Insertion& write, Bytes tree_key, bool has_repeat) {
  Status status = CheckEntrySize(*write.index, tree_key.size(), write.entry.payload.size());
  if (!status.ok()) return status;
  Tree& tree = write.index->tree;
  const TxnId own = write.txn->txn_id();
  RowChange change(manager_, write.txn, write.index, tree_key);
  change.undo_bytes = 1 + tree_key.size();
  MakeSecondaryValue({own, kNoTxn, has_repeat}, write.entry.payload, &scratch_);
  change.value_bytes = scratch_.size();

  return RunChange(&change, [&](MiniTxn* mini_txn) {
    LeafPosition position;
    Status step = tree.FindForWrite(mini_txn, tree_key, &position, left_leaves_.Of(tree.index()));
    if (!step.ok()) return step;
    if (!write.unproven.empty() &&
        !unique_.ProvesNew(*write.txn, *write.index, position, write.unproven)) {
      return Status(Code::kBusy);
    }
    if (position.exact) return PutOver(write, &change, mini_txn, position);
    step = LockInsert(manager_, write.txn, MakeLockKey(tree.index(), write.entry.key));
    if (!step.ok()) return step;
    step = CheckReaders(manager_, write.txn, tree.index(), write.entry.key);
    if (!step.ok()) return step;
    if (!tree.InsertFits(position, tree_key.size(), scratch_.size())) {
      return Status(Code::kNoRoom);
    }
    step = LogEntryUndo(&change, mini_txn, UndoType::kSecondaryInsert, 0);
    if (!step.ok()) return step;
    step = tree.InsertAt(mini_txn, position, tree_key, scratch_, own);
    ROWAN_CHECK(step.ok());
    left_leaves_.Note(tree.index(), *mini_txn, position);
    return step;
  });
}

Status EntryWriter::PutOver(const Insertion& write, RowChange* change, MiniTxn* mini_txn,
                            const LeafPosition& position) {
  SecondaryHeader header;
  Bytes old_payload;
  Status status;
  if (!ParseEntry(*change, position, &header, &old_payload, &status)) return status;
  const TxnId own = write.txn->txn_id();
  const LockTarget lock_key = MakeLockKey(write.index->id(), write.entry.key);
  status = LockBoth(change, lock_key, header);
  if (!status.ok()) return status;
  if (header.deleter == kNoTxn) {
    if (write.entry.computed) return Status(Code::kDuplicate);
    return write.index->ReportDamage(position.leaf.id.page, "the entry to insert exists already");
  }
  const bool revives = header.deleter == own && EqualBytes(old_payload, write.entry.payload);
  if (!revives && !IsSeenByAll(*manager_, header.deleter)) return Status(Code::kSkipped);
  if (header.deleter != own) {
    status = LockInsert(manager_, write.txn, lock_key);
    if (!status.ok()) return status;
  }
  status = CheckReaders(manager_, write.txn, write.index->id(), write.entry.key);
  if (!status.ok()) return status;

  // Reviving restores the interval of the old creator; else the entry starts a new one.
  if (revives) {
    header.deleter = kNoTxn;
    MakeSecondaryValue(header, write.entry.payload, &scratch_);
  }
  change->value_bytes = scratch_.size();
  Tree& tree = write.index->tree;
  if (!tree.UpdateFits(position, scratch_.size())) {
    return Status(Code::kNoRoom);
  }
  status =
      LogEntryUndo(change, mini_txn, UndoType::kSecondaryInsert, revives ? kUndoMarkCleared : 0);
  if (!status.ok()) return status;
  status = tree.UpdateAt(mini_txn, position, scratch_, own);
  ROWAN_CHECK(status.ok());
  return status;
}

Status EntryWriter::MarkAt(Txn* txn, Index* index, Bytes key, Bytes tree_key) {
  RowChange change(manager_, txn, index, tree_key);
  change.undo_bytes = 1 + tree_key.size();
  return RunChange(&change, [&](MiniTxn* mini_txn) {
    LeafPosition position;
    Status status =
        index->tree.FindForWrite(mini_txn, tree_key, &position, left_leaves_.Of(index->id()));
    if (!status.ok()) return status;
    if (!position.exact) return Status(Code::kNotFound);
    return MarkEntry(&change, mini_txn, position, key);
  });
}

Status EntryWriter::MarkEntry(RowChange* change, MiniTxn* mini_txn, const LeafPosition& position,
                              Bytes key) {
  SecondaryHeader header;
  Bytes payload;
  Status status;
  if (!ParseEntry(*change, position, &header, &payload, &status)) return status;
  Txn* txn = change->txn;
  const TxnId own = txn->txn_id();
  if (header.deleter == own) return Status(Code::kNotFound);
  const LockTarget lock_key = MakeLockKey(change->index->id(), key);
  status = LockBoth(change, lock_key, header);
  if (!status.ok()) return status;
  if (header.deleter != kNoTxn) return Status(Code::kNotFound);
  if (header.creator != own) {
    status = LockExplicit(manager_, txn, lock_key);
    if (!status.ok()) return status;
  }
  status = CheckReaders(manager_, txn, change->index->id(), key);
  if (!status.ok()) return status;

  const TxnId creator = IsSeenByAll(*manager_, header.creator) ? kNoTxn : header.creator;
  MakeSecondaryValue({creator, own, header.has_repeat}, payload, &scratch_);
  change->value_bytes = scratch_.size();
  Tree& tree = change->index->tree;
  if (!tree.UpdateFits(position, scratch_.size())) {
    return Status(Code::kNoRoom);
  }
  status = LogEntryUndo(change, mini_txn, UndoType::kSecondaryDelete, 0);
  if (!status.ok()) return status;
  status = tree.UpdateAt(mini_txn, position, scratch_, own);
  ROWAN_CHECK(status.ok());
  left_leaves_.Note(tree.index(), *mini_txn, position);
  return status;
}

Status EntryWriter::FindLastRepeat(Index* index, Bytes key, uint32_t* repeat) {
  *repeat = 0;
  Cursor* cursor = CursorOn(&cursor_, &index->tree);
  const Status status = OrOutOfMemory([&] { return ReadLastRepeat(cursor, key, repeat); });
  cursor->LetGo();
  return status.Is(Code::kEndOfRange) ? Status::Ok() : status;
}

Status EntryWriter::ReadLastRepeat(Cursor* cursor, Bytes key, uint32_t* repeat) {
  const Status status = cursor->SeekBefore(WithRepeat(key, UINT32_MAX));
  if (!status.ok()) return status;
  const Bytes found = cursor->key();
  if (found.size() == key.size() + kRepeatBytes && EqualBytes(found.first(key.size()), key)) {
    *repeat = LoadBe32(found.data() + key.size());
  }
  return Status::Ok();
}

Bytes EntryWriter::WithRepeat(Bytes key, uint32_t repeat) {
  // `key` never points into tree_key_: callers pass the plain key.
  tree_key_.resize(key.size() + kRepeatBytes);
  std::copy(key.begin(), key.end(), tree_key_.begin());
  StoreBe32(tree_key_.data() + key.size(), repeat);
  return tree_key_;
}

}  // namespace rowan
