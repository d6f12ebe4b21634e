// SPDX-License-Identifier: GPL-2.0-only
// LockTable: explicit row locks, keyed by (index, hash of the full key), never by page position, so
// splits, merges and purge of pages move nothing. A hash collision only causes extra waiting. An
// uncommitted writer's id in a row is an implicit exclusive record lock with no entry here; it is
// turned into an entry (owned by the writer) by the first transaction that must wait for it.
//
// A lock names a record, the gap before it, or both (next-key). The supremum gap of an index is a
// reserved key. Compatibility is InnoDB's: gap locks conflict only with insert intentions; record
// parts conflict as S/X; an insert intention waits for others' gap locks and nobody waits for it.
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
#include "mvcc/txn.h"

namespace rowan {

enum class LockMode : uint8_t { kShared, kExclusive };
enum class LockKind : uint8_t {
  kRecord,           ///< the record, not the gap before it
  kGap,              ///< only the gap before the record
  kNextKey,          ///< both
  kInsertIntention,  ///< asked for by inserts into a gap
  /// a unique key's value (columns without primary key): serialises its inserters
  kUniqueValue,
};

struct LockKey {
  IndexId index;
  uint64_t key_hash = 0;

  constexpr bool operator==(const LockKey&) const = default;
};
/// Hash of a full key in an index; Supremum is the gap behind the last entry.
LockKey MakeLockKey(IndexId index, Bytes key);
LockKey SupremumLockKey(IndexId index);

enum class WaitPolicy : uint8_t { kWait, kNoWait, kSkipLocked };

struct LockInfo {  ///< for INFORMATION_SCHEMA
  TxnId owner;
  IndexId index;
  uint64_t key_hash = 0;
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
  Status TryLock(Txn* txn, LockKey key, LockMode mode, LockKind kind, WaitPolicy policy);
  /// Sleeps until the queued request is granted (Ok), or kDeadlock, kLockTimeout, kInterrupted; the
  /// request is gone unless granted. `before_sleep`/`after_sleep` let the session tell the server.
  Status Wait(Txn* txn);
  /// Adds a granted exclusive record lock for an implicit holder (within TxnManager::WithActive).
  void AddImplicit(Txn* owner, LockKey key);
  /// True if another transaction than `txn` holds or waits for something that conflicts.
  [[nodiscard]] bool Conflicts(const Txn* txn, LockKey key, LockMode mode, LockKind kind) const;

  /// Takes back one successful TryLock on a row that did not match (READ COMMITTED): the lock goes
  /// when every TryLock that it answered was taken back.
  void Unlock(Txn* txn, LockKey key, LockMode mode, LockKind kind);
  /// At commit or rollback; wakes waiters.
  void ReleaseAll(Txn* txn);
  /// Sets txn->interrupted, which ends its wait, or its next one, with kInterrupted (kill). Any
  /// thread; the caller keeps `txn` alive. Cleared by whoever starts the next statement.
  void Interrupt(Txn* txn);

  /// The gap before `removed` is inherited by `successor` when purge or rollback removes an entry,
  /// and by a new key inserted into a locked gap. Under the exclusive leaf latch, which every
  /// TryLock on these gaps holds too, shared at least.
  void InheritGap(LockKey from, LockKey to);

  [[nodiscard]] std::vector<LockInfo> Describe(size_t count_max) const;
  [[nodiscard]] uint64_t lock_count() const;
  /// The transactions of the deadlock found last, as a sentence; empty if there was none.
  [[nodiscard]] std::string LastDeadlock() const;
  /// Walks all queues: order, compatibility of what is granted, counts. For tests.
  [[nodiscard]] Status Check() const;

  /// Called around sleeps with the waiting transaction; set once before use. For
  /// thd_wait_begin/end.
  void SetWaitHooks(void (*before)(Txn*), void (*after)(Txn*));

 private:
  std::unique_ptr<LockTableImpl> impl_;
};

}  // namespace rowan
