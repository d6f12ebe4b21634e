// SPDX-License-Identifier: GPL-2.0-only
#include "engine/session.h"

#include <algorithm>
#include <ctime>
#include <utility>

#include "base/assertions.h"
#include "base/counters.h"
#include "base/logging.h"
#include "base/out_of_memory.h"
#include "engine/catalog/ddl.h"
#include "engine/catalog/temporary_tables.h"
#include "space/blob_store.h"

namespace rowan {
namespace {

/// Names the index in a duplicate; other statuses pass unchanged.
Status AtIndex(Status status, uint32_t index_number) {
  return status.Is(Code::kDuplicate) ? Status(Code::kDuplicate, nullptr, index_number) : status;
}

/// The status for a missing entry that should be removed.
Status MissingEntry(Table* table, const IndexEntry& entry) {
  if (entry.computed) return Status(Code::kNotFound, nullptr, entry.index);
  Index* index = table->index(entry.index);
  return index->ReportDamage(index->tree.root(), "the entry to delete is missing");
}

}  // namespace

Session::Session(Engine* engine, const SessionParts& parts, TxnManager* txns,
                 LatchRank interrupt_rank)
    : engine_(engine),
      parts_(parts),
      txns_(txns),
      txn_(std::make_unique<Txn>()),
      interrupt_mutex_(interrupt_rank),
      writer_(txns),
      entry_writer_(txns) {}

Session::~Session() {
  // A prepared transaction outlives its session: only its coordinator may end it.
  if (txn_->state == TxnState::kPrepared) {
    NoteCommit();
    txns_->KeepPrepared(std::move(txn_));
    return;
  }
  Rollback().Ignore();  // the engine logs what a rollback cannot undo
}

void Session::Begin(IsolationLevel isolation) {
  if (txn_->state == TxnState::kActive) return;
  ROWAN_CHECK(txn_->state != TxnState::kPrepared);
  txn_->state = TxnState::kActive;
  txn_->isolation = isolation;
  if (std::exchange(txn_->optimistic, false)) txn_->refuses_newer_rows = false;
  txn_->interrupted.store(false, std::memory_order_relaxed);
  statement_open_ = false;
}

void Session::OpenSnapshot() { txns_->OpenSnapshot(txn_.get()); }

void Session::ShareSnapshot(const Session& other) {
  ROWAN_CHECK(other.txn_->snapshot.active());
  OpenSnapshot();
  // The other's snapshot preserves what is needed; our slot is released when it is closed.
  const uint32_t slot = txn_->snapshot.slot;
  txn_->snapshot = other.txn_->snapshot;
  ROWAN_DCHECK(slot != other.txn_->snapshot.slot);
  txn_->snapshot.slot = slot;
}

Status Session::OpenSnapshotFor(const Table& table, size_t index_number) {
  OpenSnapshot();
  for (const TxnId creator : {table.created_by(), table.index_created_by(index_number)}) {
    if (!txns_->IsVisible(txn_->snapshot, creator, txn_->txn_id())) {
      return Status(Code::kTableChanged, "the table or index is newer than the snapshot");
    }
  }
  return Status::Ok();
}

Status Session::CheckNotAltered(const Table& table) const {
  if (!txn_->snapshot.active()) return Status::Ok();
  const TxnId dropped_by = txn_->optimistic ? table.index_dropped_by() : kNoTxn;
  for (const TxnId altered_by : {table.created_by(), dropped_by}) {
    if (!txns_->IsVisible(txn_->snapshot, altered_by, txn_->txn_id())) {
      return Status(Code::kTableChanged, "the table was altered after the snapshot was taken");
    }
  }
  return Status::Ok();
}

Status Session::CheckMayChange(const Table& table) const {
  if (const Status usable = CheckUsable(); !usable.ok()) return usable;
  return CheckCanTellNewer(table);
}

Status Session::ReadFresh(FunctionRef<Status()> read) {
  Txn fresh;
  txns_->OpenSnapshot(&fresh);
  const Snapshot own = std::exchange(txn_->snapshot, fresh.snapshot);
  ROWAN_DCHECK(fresh.snapshot.active() && !fresh.is_writer());
  const Status status = read();
  txn_->snapshot = own;
  txns_->CloseSnapshot(&fresh);
  return status;
}

void Session::StartStatement() {
  if (statement_open_) return;
  statement_open_ = true;
  statement_start_ = txns_->Savepoint(txn_.get());
}

Status Session::EndStatement(StatementEnd end) {
  Status status;
  if (statement_open_ && end != StatementEnd::kKeep && in_transaction()) {
    const bool ends = txn_->session_ends;
    if (end == StatementEnd::kGiveUp && interrupted()) txn_->session_ends = true;
    ROWAN_DCHECK(statement_start_.records <= txn_->undo.records || txn_->undo.empty());
    status = txns_->RollbackTo(txn_.get(), statement_start_);
    if (!ends) txn_->session_ends = false;
  }
  statement_open_ = false;
  if (!auto_increment_locks_.empty()) UnlockAutoIncrement();
  if (txn_->isolation <= IsolationLevel::kReadCommitted) {
    txns_->CloseSnapshot(txn_.get());
  }
  if (temporary_ != nullptr) KeepFirst(&status, temporary_->EndStatement(end));
  return status;
}

namespace {

/// No row has this key: a value lock in the clustered index conflicts only with its own kind.
LockTarget AutoIncrementLock(const Table& table) {
  return MakeLockKey(table.index(0)->id(), AsBytes(std::string_view("AUTO_INCREMENT")));
}

}  // namespace

Status Session::LockAutoIncrement(const Table& table) {
  return OrOutOfMemory([&] { return TakeAutoIncrement(table); });
}

Status Session::TakeAutoIncrement(const Table& table) {
  const LockTarget target = AutoIncrementLock(table);
  if (std::find(auto_increment_locks_.begin(), auto_increment_locks_.end(), target) !=
      auto_increment_locks_.end()) {
    return Status::Ok();
  }
  auto_increment_locks_.reserve(auto_increment_locks_.size() + 1);
  LockTable* locks = txns_->locks();
  Status status = locks->TryLock(txn_.get(), target, LockMode::kExclusive, LockKind::kUniqueValue,
                                 WaitPolicy::kWait);
  if (status.Is(Code::kLockWait)) status = locks->Wait(txn_.get());
  if (status.ok()) auto_increment_locks_.push_back(target);
  return status;
}

bool Session::AutoIncrementIsLocked(const Table& table) const {
  return txns_->locks()->Conflicts(txn_.get(), AutoIncrementLock(table), LockMode::kExclusive,
                                   LockKind::kUniqueValue);
}

void Session::UnlockAutoIncrement() {
  for (const LockKey& key : auto_increment_locks_) {
    txns_->locks()->Unlock(txn_.get(), key, LockMode::kExclusive, LockKind::kUniqueValue);
  }
  auto_increment_locks_.clear();
}

Status Session::Commit(Durability durability, CommitWait wait) {
  if (const Status usable = CheckTemporary(); !usable.ok()) return usable;
  statement_open_ = false;
  auto_increment_locks_.clear();  // released with all others
  if (txn_->state == TxnState::kIdle) return Status::Ok();
  const bool wrote = !txn_->undo.empty();
  const Status status = OrOutOfMemory(
      [&] { return txns_->Commit(txn_.get(), durability, wait == CommitWait::kAsDurability); });
  if (status.ok()) {
    ROWAN_DCHECK(txn_->state == TxnState::kCommitted && !txn_->is_writer());
    ROWAN_DCHECK(!wrote || txn_->commit_lsn >= last_commit_lsn_);
    if (wrote) last_commit_lsn_ = txn_->commit_lsn;
    parts_.ddl->OnCommit(txn_.get());
    NoteCommit();
    txn_->state = TxnState::kIdle;
    if (temporary_ != nullptr) CommitTemporary();
  }
  return status;
}

Status Session::CheckTemporary() const {
  const bool writes = temporary_ != nullptr && temporary_->in_transaction();
  return writes ? temporary_->CheckUsable() : Status::Ok();
}

Result<Lsn> Session::Prepare(Bytes xid, Coordinator coordinator) {
  if (const Status usable = CheckTemporary(); !usable.ok()) return usable;
  const Status status = OrOutOfMemory([&] { return txns_->Prepare(txn_.get(), xid); });
  if (!status.ok()) return status;
  ROWAN_DCHECK(prepared() && !txn_->xid.empty());
  if (coordinator == Coordinator::kExternal) txn_->commit_begin_nanos = 0;
  return txn_->commit_lsn;
}

Result<Lsn> Session::RenamePrepared(Bytes xid) { return txns_->RenamePrepared(txn_.get(), xid); }

void Session::CommitTemporary() {
  const Status status = temporary_->Commit(Durability::kBackground, CommitWait::kNone);
  if (status.ok()) return;
  // The transaction is committed, and this part of it is not durable anyway.
  LogError("Changes of temporary tables are lost: {}.", status.message());
  temporary_->Rollback().Ignore();
}

Status Session::Rollback() {
  statement_open_ = false;
  auto_increment_locks_.clear();  // released with all others
  if (txn_->state == TxnState::kIdle) return Status::Ok();
  ROWAN_DCHECK(!txn_->rollback.shared);
  rolled_back_ = txn_->txn_id();
  Status status = txns_->Rollback(txn_.get());
  parts_.ddl->OnRollback(txn_.get());
  changed_.clear();
  txn_->state = TxnState::kIdle;
  if (temporary_ != nullptr) KeepFirst(&status, temporary_->Rollback());
  return status;
}

UndoPosition Session::Savepoint() const { return txns_->Savepoint(txn_.get()); }

Status Session::RollbackTo(const UndoPosition& position) {
  return OrOutOfMemory([&] { return txns_->RollbackTo(txn_.get(), position); });
}

void Session::DetachPrepared() {
  ROWAN_CHECK(txn_->state == TxnState::kPrepared);
  std::unique_ptr<Txn> prepared = std::make_unique<Txn>();
  {
    const MutexLock lock(&interrupt_mutex_);
    prepared.swap(txn_);
  }
  NoteCommit();  // the committing session does not know the tables
  // Another session may end it and free it from here on.
  txns_->KeepPrepared(std::move(prepared));
}

Result<Session*> Session::Temporary() {
  ROWAN_CHECK(in_transaction());
  // Rollbacks of temporary tables may be unfinished, which only their session could see.
  if (txns_->ShuttingDown()) return Status(Code::kInterrupted, "the server shuts down");
  if (temporary_ == nullptr) {
    const Status status = parts_.temporary->Prepare();
    if (!status.ok()) return status;
    const MutexLock lock(&interrupt_mutex_);
    temporary_.reset(
        new Session(engine_, parts_, parts_.temporary->txns(), LatchRank::kTemporaryInterrupt));
  }
  // It reads without snapshots, so it would see changes to be undone.
  if (temporary_->rolled_back_ != kNoTxn && temporary_->txns_->IsActive(temporary_->rolled_back_)) {
    return Status(Code::kBusy, "changes of temporary tables are still being rolled back");
  }
  ROWAN_DCHECK(!temporary_->prepared() && temporary_->temporary_ == nullptr);
  temporary_->Begin(txn_->isolation);
  if (interrupted()) temporary_->Interrupt();
  temporary_->StartStatement();
  return temporary_.get();
}

Session::Place Session::CurrentPlace() const {
  return {Savepoint(), temporary_ == nullptr ? UndoPosition{} : temporary_->Savepoint()};
}

Status Session::ReturnTo(const Place& place) {
  Status status = RollbackTo(place.tables);
  if (temporary_ != nullptr) KeepFirst(&status, temporary_->RollbackTo(place.temporary_tables));
  return status;
}

void Session::Interrupt(Interruption what) {
  const MutexLock lock(&interrupt_mutex_);
  if (what == Interruption::kSession) txn_->session_ends.store(true, std::memory_order_seq_cst);
  txn_->leaves_savepoint.store(true, std::memory_order_seq_cst);
  txn_->interrupted.store(true, std::memory_order_relaxed);
  txns_->locks()->Interrupt(txn_.get());
  if (temporary_ != nullptr) temporary_->Interrupt(what);
}

void Session::NoteChange(Table* table, int64_t rows) {
  const auto count = [&] { table->AddRows(rows); };
  if (!changed_.empty() && changed_.back().get() == table) return count();
  const auto is_table = [table](const auto& known) { return known.get() == table; };
  if (std::any_of(changed_.begin(), changed_.end(), is_table)) return count();
  if (std::shared_ptr<Table> owned = table->weak_from_this().lock()) {
    changed_.push_back(std::move(owned));
  }
  count();
}

void Session::NoteCommit() {
  if (changed_.empty()) return;
  const auto now = static_cast<int64_t>(std::time(nullptr));
  for (const std::shared_ptr<Table>& table : changed_) table->SetUpdateTime(now);
  changed_.clear();
}

template <typename Change>
Status Session::Atomically(const Table& table, Counter counter, Change change) {
  if (const Status allowed = CheckMayChange(table); !allowed.ok()) return allowed;
  const UndoPosition before = Savepoint();
  const Status status = OrOutOfMemory(change);
  if (status.ok()) AddCounter(counter);
  if (status.ok() || EndsTransaction(status)) return status;
  ROWAN_DCHECK(before.records <= txn_->undo.records);
  const Status undone = RollbackTo(before);
  return undone.ok() ? status : undone;
}

Status Session::InsertRow(Table* table, Bytes key, Bytes row, std::span<const IndexEntry> entries,
                          LockMode duplicate_mode) {
  return Atomically(*table, Counter::kRowsInserted,
                    [&] { return PutRow(table, key, row, entries, duplicate_mode); });
}

Status Session::PutRow(Table* table, Bytes key, Bytes row, std::span<const IndexEntry> entries,
                       LockMode duplicate_mode) {
  ROWAN_DCHECK(!key.empty() && in_transaction());
  Status status =
      AtIndex(writer_.InsertRow(txn_.get(), table->index(0), key, row, duplicate_mode), 0);
  if (!status.ok()) return status;
  for (const IndexEntry& entry : entries) {
    status = entry_writer_.Insert(txn_.get(), table->index(entry.index), entry, duplicate_mode);
    if (!status.ok()) return AtIndex(status, entry.index);
  }
  table->NoteChangedRow(key);
  NoteChange(table, 1);
  return Status::Ok();
}

Status Session::UpdateRow(Table* table, const StoredKey& old, Bytes new_key, Bytes new_row,
                          std::span<const EntryChange> changes) {
  return Atomically(*table, Counter::kRowsUpdated,
                    [&] { return ChangeRow(table, old, new_key, new_row, changes); });
}

Status Session::ChangeRow(Table* table, const StoredKey& old, Bytes new_key, Bytes new_row,
                          std::span<const EntryChange> changes) {
  const bool moves = !EqualBytes(old.key, new_key);
  Status status = moves
                      ? MoveRow(table, old, new_key, new_row)
                      : writer_.UpdateRow(txn_.get(), table->index(0), old.key, new_row, old.seen);
  if (!status.ok()) return AtIndex(status, 0);
  for (const EntryChange& change : changes) {
    status = ChangeEntry(table, change);
    if (!status.ok()) return AtIndex(status, change.after.index);
  }
  table->NoteChangedRow(old.key);
  if (moves) table->NoteChangedRow(new_key);
  NoteChange(table, 0);
  return Status::Ok();
}

Status Session::MoveRow(Table* table, const StoredKey& old, Bytes new_key, Bytes new_row) {
  const Status status = writer_.DeleteRow(txn_.get(), table->index(0), old.key, old.seen);
  if (!status.ok()) return status;
  return writer_.InsertRow(txn_.get(), table->index(0), new_key, new_row);
}

Status Session::ChangeEntry(Table* table, const EntryChange& change) {
  ROWAN_DCHECK(change.before.index == change.after.index || change.before.key.empty());
  ROWAN_DCHECK(change.after.index != 0 && change.after.index < table->index_count());
  Index* index = table->index(change.after.index);
  if (EqualBytes(change.before.key, change.after.key)) {
    const Status status = entry_writer_.ReplacePayload(txn_.get(), index, change.after);
    return status.Is(Code::kNotFound) ? MissingEntry(table, change.before) : status;
  }
  if (!change.before.key.empty()) {
    const Status status = DeleteEntry(table, change.before);
    if (!status.ok() || change.after.key.empty()) return status;
  }
  return entry_writer_.Insert(txn_.get(), index, change.after);
}

Status Session::DeleteEntry(Table* table, const IndexEntry& entry) {
  const Status status = entry_writer_.Delete(txn_.get(), table->index(entry.index), entry.key);
  return status.Is(Code::kNotFound) ? MissingEntry(table, entry) : status;
}

Status Session::DeleteRow(Table* table, const StoredKey& row, std::span<const IndexEntry> entries) {
  return Atomically(*table, Counter::kRowsDeleted, [&] { return RemoveRow(table, row, entries); });
}

Status Session::RemoveRow(Table* table, const StoredKey& row, std::span<const IndexEntry> entries) {
  ROWAN_DCHECK(!row.key.empty() && in_transaction());
  Status status = writer_.DeleteRow(txn_.get(), table->index(0), row.key, row.seen);
  if (!status.ok()) return status;
  for (const IndexEntry& entry : entries) {
    status = DeleteEntry(table, entry);
    if (!status.ok()) return status;
  }
  table->NoteChangedRow(row.key);
  NoteChange(table, -1);
  return Status::Ok();
}

Result<BlobRef> Session::WriteBlob(Table* table, Bytes value, ValueUndo undo) {
  if (const Status usable = CheckUsable(); !usable.ok()) return usable;
  return OrOutOfMemory([&] { return PutBlob(table, value, undo); });
}

Result<BlobRef> Session::PutBlob(Table* table, Bytes value, ValueUndo undo) {
  if (undo == ValueUndo::kGoesWithTable) {
    return parts_.blobs->Write(table->space(), value, {}, &txn_->interrupted);
  }
  const Status status = writer_.PrepareUndo(txn_.get(), kBlobRefBytes);
  if (!status.ok()) return status;
  const auto log_undo = [this](MiniTxn* mini_txn, const BlobRef& ref) {
    return writer_.LogBlobWrite(txn_.get(), mini_txn, ref);
  };
  return parts_.blobs->Write(table->space(), value, log_undo, &txn_->interrupted);
}

Status Session::DropBlob(const BlobRef& ref) {
  if (const Status usable = CheckUsable(); !usable.ok()) return usable;
  return OrOutOfMemory([&] { return writer_.LogBlobDrop(txn_.get(), ref); });
}

Status Session::ReadBlob(const BlobRef& ref, MutableBytes target) {
  return OrOutOfMemory([&] { return parts_.blobs->Read(ref, 0, target, &txn_->interrupted); });
}

Status Session::TryReadBlob(const BlobRef& ref, MutableBytes target) {
  return parts_.blobs->TryRead(ref, target);
}

void Session::FinishDdl() {
  WorkBudget budget = txns_->BudgetOf(*txn_);
  // The rest is garbage that purge, or the next start, removes.
  OrOutOfMemory([&] {
    parts_.ddl->Finish(txn_.get(), &budget);
    txns_->RetryFailedRollbacks();  // their obstacle may be dropped now
    return Status::Ok();
  }).Ignore();
}

}  // namespace rowan
