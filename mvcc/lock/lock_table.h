// SPDX-License-Identifier: GPL-2.0-only
// LockTable: row locks. A record lock is an entry keyed by (index, hash of the full key), never by
// page position, so splits, merges and purge of pages move nothing. A hash collision only causes
// extra waiting. Two kinds of locks have no entry, and are turned into one (owned by their holder)
// by the first transaction that must wait for them: an uncommitted writer's id in a row, which is
// an implicit exclusive record lock, and folded locks (mvcc/lock/folded_locks.h), the key ranges of
// scans and the older record locks of a transaction with many.
//
// A range locks records and the gaps between them. Gap locks conflict only with insert intentions;
// record parts conflict as S/X; an insert intention waits for others' gap locks and nobody waits
// for it. Why no insert slips past a range: docs/decisions/0002-lock-keys.md.
// Deadlocks: each waiter publishes one edge (`Txn::waiting_for`) before it walks the chain of
// edges; reaching itself it chooses the victim with the fewest undo bytes and claims it by
// exchange. Thread safety: all members. Never called with the lock table's own mutexes held;
// TryLock may be called under a leaf latch (it does not block), Wait must not.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/status.h"
#include "mvcc/txn/txn.h"
#include "mvcc/txn/work_budget.h"

namespace rowan {

enum class LockMode : uint8_t { kShared, kExclusive };
enum class LockKind : uint8_t {
  kRecord,           ///< the record, not the gap before it
  kGap,              ///< inserts of the key
  kNextKey,          ///< both: what a range holds of each key in it
  kInsertIntention,  ///< asked for by inserts into a gap
  /// a unique key's value (columns without primary key): serialises its inserters
  kUniqueValue,
};

struct LockKey {
  IndexId index;
  uint64_t key_hash = 0;

  constexpr bool operator==(const LockKey&) const = default;
};
/// A lock key with the key itself, which ranges are asked by. The caller keeps the bytes.
struct LockTarget : LockKey {
  LockTarget(LockKey id, Bytes key_bytes = {}) : LockKey(id), key(key_bytes) {}
  Bytes key;
};
/// Of a full key in an index, without ordinal.
LockTarget MakeLockKey(IndexId index, Bytes key);

/// Which key at the edge of a piece is locked against inserts only (a dead or absent record).
enum class GapEdge : uint8_t { kNone, kFirst, kLast };
/// A piece of the key space for a range lock: [low, high), keys without ordinals.
struct RangePiece {
  Bytes low;
  Bytes high;
  bool unbounded = false;  ///< to the end of the index
  GapEdge gap_edge = GapEdge::kNone;
};

enum class WaitPolicy : uint8_t { kWait, kNoWait, kSkipLocked };

struct LockInfo {  ///< for INFORMATION_SCHEMA
  TxnId owner;
  IndexId index;
  uint64_t key_hash = 0;  ///< 0 for a range
  LockMode mode = LockMode::kShared;
  LockKind kind = LockKind::kRecord;
  bool granted = false;
};

struct LockTableImpl;

class LockTable {
 public:
  explicit LockTable(uint64_t memory_bytes_max);
  ~LockTable();

  /// Grants at once if possible. On conflict: kNoWait -> kLockNotAvailable, kSkipLocked ->
  /// kSkipped, kWait -> a waiting request is queued and kLockWait returned: release all latches,
  /// then Wait. A lock already covered by one the transaction holds is Ok without a new entry (the
  /// entry counts how often it was asked for, see Unlock). An insert intention never leaves an
  /// entry. kLockTableFull at the memory cap. Works for transactions without an id, too.
  /// `kind` is not kNextKey: ranges are locked by the two members below.
  Status TryLock(Txn* txn, const LockTarget& target, LockMode mode, LockKind kind,
                 WaitPolicy policy);
  /// As TryLock of a record that a scan has come to, but leaves no entry: when the lock is granted
  /// at once, `piece`, which holds the record, joins the ranges of the transaction.
  Status LockScanned(Txn* txn, const LockTarget& target, LockMode mode, WaitPolicy policy,
                     const RangePiece& piece);
  /// Locks a piece without records that others could have locked. Never waits. kLockTableFull.
  Status LockGap(Txn* txn, IndexId index, LockMode mode, const RangePiece& piece);
  /// False: no insert into the index has to ask for an intention. Call under the leaf latch.
  [[nodiscard]] bool MayHoldGaps(const Txn* txn, IndexId index) const;
  /// Sleeps until the queued request is granted (Ok), or kDeadlock, kLockTimeout, kInterrupted; the
  /// request is gone unless granted. `before_sleep`/`after_sleep` let the session tell the server.
  Status Wait(Txn* txn);
  /// Adds a granted exclusive record lock for an implicit holder (within TxnManager::WithActive).
  void AddImplicit(Txn* owner, LockKey key);
  /// True if another transaction than `txn` holds or waits for something that conflicts.
  [[nodiscard]] bool Conflicts(const Txn* txn, const LockTarget& target, LockMode mode,
                               LockKind kind) const;

  /// Takes back one successful TryLock on a row that did not match (READ COMMITTED): the lock goes
  /// when every TryLock that it answered was taken back. What is folded stays.
  void Unlock(Txn* txn, LockKey key, LockMode mode, LockKind kind);
  /// At commit or rollback; wakes waiters.
  void ReleaseAll(Txn* txn);
  /// Sets txn->interrupted, which ends its wait, or its next one, with kInterrupted (kill). Any
  /// thread; the caller keeps `txn` alive. Cleared by whoever starts the next statement.
  void Interrupt(Txn* txn);

  /// Most memory for entries and folded locks. A transaction with few locks is not refused beyond.
  void SetMemoryMax(uint64_t memory_bytes_max);
  [[nodiscard]] uint64_t memory_bytes() const;

  [[nodiscard]] std::vector<LockInfo> Describe(size_t count_max) const;
  /// Entries, granted and waiting.
  [[nodiscard]] uint64_t lock_count() const;
  /// The transactions of the deadlock found last, as a sentence; empty if there was none.
  [[nodiscard]] std::string LastDeadlock() const;
  /// Walks all queues: order, compatibility of what is granted, counts. For tests.
  [[nodiscard]] Status Check() const;

  /// Called around sleeps with the waiting transaction; set once before use. For
  /// thd_wait_begin/end.
  void SetWaitHooks(void (*before)(Txn*), void (*after)(Txn*));
  /// Waits end with kInterrupted when it says so; set once before use.
  void SetShutdownSign(ShutdownSign sign);

 private:
  std::unique_ptr<LockTableImpl> impl_;
};

}  // namespace rowan
