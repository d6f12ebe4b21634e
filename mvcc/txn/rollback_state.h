// SPDX-License-Identifier: GPL-2.0-only
// RollbackState: the outcome of a transaction's rollbacks, and whether it must be rolled back.
// Thread safety: the transaction's thread, or, without a session, the one that has taken it.
#pragma once

#include <cstdint>

#include "base/status.h"

namespace rowan {

/// Of a transaction whose rollback failed and which no longer has a session.
struct FailedRollback {
  Code cause = Code::kOk;       ///< of the last failure; kOk: none, or it is being retried
  uint32_t failures = 0;        ///< not 0: it can only be rolled back, prepared or not
  uint64_t retry_at_nanos = 0;  ///< MonotonicNanos
};

struct RollbackState {
  /// Not kOk: only a rollback is possible, all else fails with this code. kDeadlock: it was chosen
  /// to end a deadlock, or met a row newer than its snapshot.
  Code required = Code::kOk;
  /// Not kOk: a rollback to a savepoint of `half_undone_records` records failed with it. Until one
  /// to that point or an earlier one succeeds, only a rollback is possible.
  Code half_undone = Code::kOk;
  /// Workers share the rollback (mvcc/undo/rollback_window.h): the UndoTail stays as it is.
  bool shared = false;
  uint64_t half_undone_records = 0;
  FailedRollback failed;
};

}  // namespace rowan
