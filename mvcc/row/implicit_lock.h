// SPDX-License-Identifier: GPL-2.0-only
// Implicit locks: the transaction id in a row or entry is an exclusive record lock while that
// transaction is active. These functions check it, and explicit locks of others, for an entry on a
// latched leaf. Thread safety: all functions.
#pragma once

#include "base/ids.h"
#include "base/status.h"
#include "mvcc/lock/lock_key.h"
#include "mvcc/lock/lock_mode.h"
#include "mvcc/txn/txn.h"
#include "mvcc/txn_manager.h"

namespace rowan {

/// Ok when `holder` (0, ourselves or a finished transaction) holds no implicit lock against us.
/// Else its lock is made explicit and ours asked for: kLockWait when queued, kLockNotAvailable or
/// kSkipped as `policy` asks. Call under the latch of the leaf where `holder` was read.
Status LockImplicit(TxnManager* manager, Txn* txn, TxnId holder, const LockTarget& key,
                    LockMode mode, WaitPolicy policy);

/// Before a row or entry becomes ours by writing to it: respects explicit locks of others, and
/// makes no entry when there are none. Ok or kLockWait or an error.
Status LockExplicit(TxnManager* manager, Txn* txn, const LockTarget& key);
/// Before an entry with this key comes to life, new or replacing a dead one: respects others' gap
/// locks, too. Call under the exclusive latch of the leaf it goes to: a scan that read the leaf
/// before has covered its way there under the same latch.
Status LockInsert(TxnManager* manager, Txn* txn, const LockTarget& key);

/// Before a row or entry with this key (without repeat) is changed, and after its locks: whether
/// the change is allowed to an optimistic transaction given what others have read. Call under the
/// exclusive latch of its leaf. Ok or kDeadlock.
inline Status CheckReaders(TxnManager* manager, Txn* txn, IndexId index, Bytes key) {
  return txn->serial == nullptr ? Status::Ok() : manager->serial()->CheckWrite(txn, index, key);
}

/// kDuplicate; records for an optimistic transaction that it has read this key.
Status NoteDuplicate(TxnManager* manager, Txn* txn, IndexId index, Bytes key);

}  // namespace rowan
