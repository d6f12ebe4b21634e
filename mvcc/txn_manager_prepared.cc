// SPDX-License-Identifier: GPL-2.0-only
// Prepared transactions that continue without their session, or under another XID.
#include <string>
#include <utility>

#include "base/assertions.h"
#include "mvcc/txn_manager.h"

namespace rowan {

void TxnManager::KeepPrepared(std::unique_ptr<Txn> txn) {
  ROWAN_CHECK(txn->state == TxnState::kPrepared);
  ROWAN_DCHECK(txn->locks.waiting_for.load(std::memory_order_relaxed) == nullptr);
  CloseSnapshot(txn.get());
  locks_.SetReplicaWorker(txn.get(), nullptr);
  txn->thread.store(0, std::memory_order_relaxed);
  txn->interrupted.store(false, std::memory_order_relaxed);  // that was for the session
  txn->session_ends.store(false, std::memory_order_relaxed);
  detached_.Add(std::move(txn));
}

Result<Lsn> TxnManager::RenamePrepared(Txn* txn, Bytes xid) {
  if (txn->state != TxnState::kPrepared || txn->xid.size() != xid.size()) {
    return Status(Code::kInvalidArgument, "not a prepared transaction of such an XID");
  }
  if (!txn->undo.empty()) {
    const Result<Lsn> end = undo_.ReplaceXid(txn, xid);
    if (!end.ok()) return end;
    txn->commit_lsn = end.value();
  }
  ROWAN_DCHECK(txn->xid.size() == xid.size());
  txn->xid.assign(AsText(xid));
  return txn->commit_lsn;
}

Status TxnManager::RenamePrepared(const std::string& xid, const std::string& renamed) {
  std::unique_ptr<Txn> txn = detached_.TakePrepared(xid);
  if (txn == nullptr) return Status(Code::kNotFound);
  const Status status = RenamePrepared(txn.get(), AsBytes(renamed)).status();
  detached_.Add(std::move(txn));
  return status;
}

}  // namespace rowan
