// SPDX-License-Identifier: GPL-2.0-only
// Session: one connection's transaction and its row operations on whole tables (clustered row plus
// secondary entries). Each row operation is atomic: when a later part fails, the earlier parts are
// rolled back before it returns. Thread safety: one thread at a time; Interrupt from any.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/counters.h"
#include "base/function_ref.h"
#include "base/mutex.h"
#include "base/status.h"
#include "engine/catalog/table.h"
#include "engine/sort/entry_sorter.h"
#include "engine/work_progress.h"
#include "mvcc/row/entry_writer.h"
#include "mvcc/row/index_entry.h"
#include "mvcc/row/row_writer.h"
#include "mvcc/txn/txn.h"
#include "mvcc/txn_manager.h"
#include "space/off_page_value.h"
#include "space/page_allocator.h"
#include "space/value_changes.h"

namespace rowan {

class BlobStore;
class DdlLog;
class Engine;
class TemporaryTables;

/// How one secondary entry changes when its row is updated. Where the index has several entries of
/// a row, an entry without a key means that the other is just added or removed; both name the
/// index.
struct EntryChange {
  IndexEntry before;
  IndexEntry after;
};

/// After a change of a row: it failed because a computed entry (IndexEntry::computed) is not the
/// row's in the index given by the detail.
inline bool IsOtherEntry(Status status) {
  return status.Is(Code::kNotFound) && status.detail() != 0;
}

/// Failures after which the whole transaction is rolled back anyway.
inline bool EndsTransaction(Status status) {
  return status.Is(Code::kDeadlock) || status.Is(Code::kStopped);
}

/// How a statement ends. kGiveUp: as kUndo, but the transaction will be rolled back anyway, so a
/// kill that ends the statement leaves its rollback, too: kInterrupted.
enum class StatementEnd : uint8_t { kKeep, kUndo, kGiveUp };
/// Whether a commit waits for what its durability asks for; kNone: another thread does.
enum class CommitWait : uint8_t { kAsDurability, kNone };
/// What decides the outcome of a prepared transaction: we, at once, or an external coordinator at
/// any time, which the log's latencies exclude.
enum class Coordinator : uint8_t { kInternal, kExternal };
/// What a kill ends: a statement, or the session with it.
enum class Interruption : uint8_t { kStatement, kSession };
/// Whether undo frees an off-page value, or the file of its table goes with it.
enum class ValueUndo : uint8_t { kFreed, kGoesWithTable };

/// A change of an off-page value.
struct ValueChange {
  const OffPageValue* stored = nullptr;
  Bytes before;                    ///< its bytes
  Bytes after;                     ///< of any size
  size_t reference_bytes_max = 0;  ///< room in the row, kBlobRefBytes at least
};

/// How a session waits for row locks.
struct LockWaitSettings {
  uint32_t timeout_s = 50;
  bool detect_deadlocks = true;
};

/// What the sessions of an engine work on; outlives them.
struct SessionParts {
  PageAllocator* allocator = nullptr;
  BlobStore* blobs = nullptr;
  TxnManager* txns = nullptr;
  TemporaryTables* temporary = nullptr;
  DdlLog* ddl = nullptr;
  SortSpace sort_space;
};

class Session {
 public:
  Session(Engine* engine, const SessionParts& parts)
      : Session(engine, parts, parts.txns, LatchRank::kSessionInterrupt) {}
  /// Rolls back anything open.
  ~Session();

  // --- transaction ---
  [[nodiscard]] Engine* engine() const { return engine_; }
  [[nodiscard]] bool in_transaction() const { return txn_->state == TxnState::kActive; }
  [[nodiscard]] bool idle() const { return txn_->state == TxnState::kIdle; }
  /// Empty unless prepared().
  [[nodiscard]] const std::string& prepared_xid() const { return txn_->xid; }
  [[nodiscard]] bool prepared() const { return txn_->state == TxnState::kPrepared; }
  /// kDeadlock after an operation that failed with it, until Rollback; and the error of a failed
  /// rollback to a savepoint or of a statement, until one to there or earlier succeeds
  /// (kInterrupted: a shutdown stopped it): reads, changes, Prepare and Commit are refused with it.
  [[nodiscard]] Status CheckUsable() const { return TxnManager::CheckUsable(*txn_); }
  /// The transaction has written something.
  [[nodiscard]] bool wrote() const { return txn_->is_writer(); }
  [[nodiscard]] IsolationLevel isolation() const { return txn_->isolation; }
  /// Number of the open transaction, never reused; 0 before it writes.
  [[nodiscard]] uint64_t txn_number() const { return txn_->txn_id().value(); }
  /// For later waits.
  void SetLockWait(const LockWaitSettings& settings) {
    txn_->locks.wait_timeout_s = settings.timeout_s;
    txn_->locks.deadlock_detect = settings.detect_deadlocks;
  }
  /// True snapshot isolation at REPEATABLE READ, for later statements: locking or changing a row
  /// changed after the transaction's snapshot was taken fails with kDeadlock.
  void SetSnapshotIsolation(bool on) {
    txn_->refuses_newer_rows =
        txn_->optimistic || (on && txn_->isolation >= IsolationLevel::kRepeatableRead);
  }
  /// Before the transaction's first statement, at SERIALIZABLE: plain reads use the snapshot and
  /// block no writer; a transaction that could close a cycle of reads and writes fails with
  /// kDeadlock, at the latest at Prepare or Commit. `read_only`: it will not write. Serializable
  /// only among such transactions.
  void BeginOptimistic(bool read_only) { txns_->BeginOptimistic(txn_.get(), read_only); }
  [[nodiscard]] bool optimistic() const { return txn_->optimistic; }
  /// The host's thread that runs the session from now on: its number, shown to operators, and, if
  /// it is a replication worker (else null), the worker that LockWaitHooks get. When this returns,
  /// the former worker is no longer used.
  void SetThread(uint64_t number, void* worker) {
    txn_->thread.store(number, std::memory_order_relaxed);
    txns_->locks()->SetReplicaWorker(txn_.get(), worker);
  }
  /// Marks the transaction active; no id and no snapshot yet. Fine if it is active already.
  void Begin(IsolationLevel isolation = IsolationLevel::kRepeatableRead);
  /// Takes the snapshot if none is open (REPEATABLE READ keeps it, READ COMMITTED closes it per
  /// statement through EndStatement).
  void OpenSnapshot();
  /// Sees what another session's open snapshot shows, which must stay open as long.
  void ShareSnapshot(const Session& other);
  /// As OpenSnapshot, for reading `table`: kTableChanged if the snapshot is older than the table,
  /// because of an ALTER or TRUNCATE committed since, or than its index `index_number`.
  Status OpenSnapshotFor(const Table& table, size_t index_number = 0);
  /// Before locking or changing the newest rows of `table`: kTableChanged if the transaction must
  /// notice changes made after its snapshot, but the table no longer shows them.
  [[nodiscard]] Status CheckCanTellNewer(const Table& table) const {
    return txn_->refuses_newer_rows ? CheckNotAltered(table) : Status::Ok();
  }
  /// Snapshot reads inside `read` see what is committed now, whatever the transaction's snapshot,
  /// and the transaction's own changes.
  Status ReadFresh(FunctionRef<Status()> read);
  void StartStatement();
  Status EndStatement(StatementEnd end);
  Status Commit(Durability durability = Durability::kDurable,
                CommitWait wait = CommitWait::kAsDurability);
  /// End of the newest commit of this session that wrote something; 0 before the first.
  [[nodiscard]] Lsn last_commit_lsn() const { return last_commit_lsn_; }
  /// Returns the end of what it logged, for WaitCommitted: only then is the transaction prepared.
  Result<Lsn> Prepare(Bytes xid, Coordinator coordinator = Coordinator::kInternal);
  /// See TxnManager::RenamePrepared.
  Result<Lsn> RenamePrepared(Bytes xid);
  Status Rollback();
  [[nodiscard]] UndoPosition Savepoint() const;
  Status RollbackTo(const UndoPosition& position);
  /// The prepared transaction leaves this session (XA detach); the session gets a fresh one.
  void DetachPrepared();

  // --- temporary tables ---
  /// The part of this session for temporary tables: a session whose transaction and statement begin
  /// here and end with this one's. REQUIRES: in a transaction. A prepared transaction has no part
  /// here until it is committed or rolled back. kInterrupted from the shutdown sign on; kBusy while
  /// a failed rollback is retried.
  Result<Session*> Temporary();
  /// Positions in both parts, for savepoints.
  struct Place {
    UndoPosition tables;
    UndoPosition temporary_tables;
  };
  [[nodiscard]] Place CurrentPlace() const;
  Status ReturnTo(const Place& place);
  /// Kill: ends a lock wait, and every read and wait from here on until ClearInterrupt or the next
  /// transaction, with kInterrupted. The rest of a long Rollback is done in the background.
  /// RollbackTo and EndStatement fail with kInterrupted if they are under way, or if the session is
  /// to end: docs/contracts/interruption.md. Any thread.
  void Interrupt(Interruption what = Interruption::kStatement);
  [[nodiscard]] bool interrupted() const {
    return txn_->interrupted.load(std::memory_order_relaxed);
  }
  /// A concurrent Interrupt may be lost: check for its reason afterwards.
  void ClearInterrupt() {
    txn_->interrupted.store(false, std::memory_order_seq_cst);
    if (temporary_ != nullptr) temporary_->ClearInterrupt();
  }

  /// Gets the progress of later long work of this session; null: nothing does. Outlives that work.
  void ReportProgress(WorkProgress* progress) { progress_ = progress; }
  [[nodiscard]] WorkProgress* progress() const { return progress_; }

  /// Takes the table's AUTO_INCREMENT lock until the statement ends. As for a row lock: kDeadlock,
  /// kLockTimeout, kInterrupted.
  Status LockAutoIncrement(const Table& table);
  /// True if another transaction has it or waits for it.
  [[nodiscard]] bool AutoIncrementIsLocked(const Table& table) const;

  // --- rows; errors as in mvcc/row/row_writer.h ---
  /// kDuplicate: detail = number of the index in its table; the existing row is locked in
  /// `duplicate_mode`.
  Status InsertRow(Table* table, Bytes key, Bytes row, std::span<const IndexEntry> entries = {},
                   LockMode duplicate_mode = LockMode::kShared);
  /// A row by its key and, if that is known, the place where it was read.
  struct StoredKey {
    StoredKey(Bytes key_in, const EntryPlace& seen_in = {}) : key(key_in), seen(seen_in) {}
    Bytes key;
    EntryPlace seen;
  };
  /// `new_key` may equal the old one. `changes` lists only entries that change. IsOtherEntry here
  /// and below: engine/entry_search.h finds the row's.
  Status UpdateRow(Table* table, const StoredKey& old, Bytes new_key, Bytes new_row,
                   std::span<const EntryChange> changes);
  Status DeleteRow(Table* table, const StoredKey& row, std::span<const IndexEntry> entries);

  // --- off-page values ---
  /// `undo`, kGoesWithTable: this transaction created the table, and cannot go on once the change
  /// that refers to the value failed.
  Result<BlobRef> WriteBlob(Table* table, Bytes value, ValueUndo undo = ValueUndo::kFreed);
  /// Stores `change.after` for a new version of the row: small changes share the stored base,
  /// others are written whole. Once the row is changed, the caller drops what `stored` consists of
  /// and the result does not.
  Result<OffPageValue> ChangeValue(Table* table, const ValueChange& change);
  Status DropBlob(const BlobRef& ref);
  Status ReadBlob(const BlobRef& ref, MutableBytes target);
  Status ReadValue(const OffPageValue& value, MutableBytes target);
  /// Without a snapshot or a lock that keeps the value: kNotFound when it is gone.
  Status TryReadBlob(const BlobRef& ref, MutableBytes target);

  /// Removes files of tables whose DROP this transaction committed. After commit.
  void FinishDdl();

  // --- for other work of engine/ in the session's transaction ---
  [[nodiscard]] Txn* txn() { return txn_.get(); }
  [[nodiscard]] TxnManager* txns() const { return txns_; }
  [[nodiscard]] RowWriter* writer() { return &writer_; }
  /// Undo record of an engine extension (engine/catalog/ddl.cc), in its own group.
  Status LogExtension(Bytes payload) { return writer_.LogExtension(txn_.get(), payload); }
  [[nodiscard]] const SortSpace& sort_space() const { return parts_.sort_space; }
  /// Long work ends here: by a kill or a shutdown.
  [[nodiscard]] bool must_stop() const { return interrupted() || txns_->ShuttingDown(); }

 private:
  Session(Engine* engine, const SessionParts& parts, TxnManager* txns, LatchRank interrupt_rank);
  [[nodiscard]] Status CheckNotAltered(const Table& table) const;
  [[nodiscard]] Status CheckMayChange(const Table& table) const;
  Status PutRow(Table* table, Bytes key, Bytes row, std::span<const IndexEntry> entries,
                LockMode duplicate_mode);
  Status ChangeRow(Table* table, const StoredKey& old, Bytes new_key, Bytes new_row,
                   std::span<const EntryChange> changes);
  Status RemoveRow(Table* table, const StoredKey& row, std::span<const IndexEntry> entries);
  Result<BlobRef> PutBlob(Table* table, Bytes value, ValueUndo undo);
  Result<OffPageValue> PutChanges(Table* table, const ValueChange& change);
  Status TakeAutoIncrement(const Table& table);
  /// Counts the change of a row, or undoes its parts if it fails.
  template <typename Change>
  Status Atomically(const Table& table, Counter counter, Change change);
  /// After a change of a row: AddRows, and notes the table for the commit.
  void NoteChange(Table* table, int64_t rows);
  void NoteCommit();
  void UnlockAutoIncrement();
  void CommitTemporary();
  /// Whether the part for temporary tables can be committed with this one.
  [[nodiscard]] Status CheckTemporary() const;
  Result<bool> WritePatch(Table* table, const ValueChange& change, uint64_t most,
                          ByteRanges* ranges, BlobRef* written);
  Result<OffPageValue> WriteWhole(Table* table, Bytes value);
  Status NoteChangedValues(Table* table);
  Status MoveRow(Table* table, const StoredKey& old, Bytes new_key, Bytes new_row);
  Status ChangeEntry(Table* table, const EntryChange& change);
  Status DeleteEntry(Table* table, const IndexEntry& entry);

  Engine* const engine_;
  const SessionParts parts_;
  TxnManager* const txns_;  ///< the parts', or that of temporary tables
  std::unique_ptr<Txn> txn_;
  std::unique_ptr<Session> temporary_;  ///< null before Temporary() was called
  Mutex interrupt_mutex_;               // guards Interrupt against changes of txn_ and temporary_
  RowWriter writer_;
  EntryWriter entry_writer_;
  UndoPosition statement_start_;
  TxnId rolled_back_;  ///< the last one rolled back; still active if that failed
  Lsn last_commit_lsn_{0};
  std::vector<std::shared_ptr<Table>> changed_;  ///< by the open transaction; kept alive: a DROP
  bool statement_open_ = false;
  WorkProgress* progress_ = nullptr;
  std::vector<LockKey> auto_increment_locks_;  ///< of the open statement
};

}  // namespace rowan
