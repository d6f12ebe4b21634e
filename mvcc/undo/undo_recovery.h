// SPDX-License-Identifier: GPL-2.0-only
// UndoRecovery: finds the streams again after a restart. It reads each stream's tail page, the page
// where purge goes on and the header of the last transaction: the tail page sums up what is between
// them. A stream written by an older version of Rowan is walked instead. Thread safety: one thread,
// before the streams are used.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "mvcc/txn/txn.h"
#include "mvcc/undo/undo_scan.h"
#include "mvcc/undo/undo_streams.h"

namespace rowan {

class UndoRecovery {
 public:
  explicit UndoRecovery(UndoStreams* streams) : streams_(streams), space_(streams->space()) {}

  /// Scans the directory and the ends of all streams; for every transaction that is not committed
  /// makes a Txn (state kActive or kPrepared with xid) owning its stream.
  enum class OnDamage : uint8_t {
    kRefuse,
    kLeaveStream,    ///< streams whose ends cannot be read are left out
    kLeaveDirectory  ///< also those missing from the directory: nothing will be written
  };
  Status Run(OnDamage on_damage = OnDamage::kRefuse);

  [[nodiscard]] std::vector<std::unique_ptr<Txn>>& unfinished() { return unfinished_; }
  /// The largest transaction id and CSN seen through the pointers. They are not the largest in the
  /// undo space: those are below the marks that were reserved before they were used.
  [[nodiscard]] TxnId txn_max() const { return TxnId(txn_max_); }
  [[nodiscard]] Csn csn_max() const { return Csn(csn_max_); }

 private:
  Status RecoverStream(uint32_t number, const DirectorySlot& slot);
  /// False if there is a page without a summary where one is needed.
  Result<bool> RecoverFromSummaries(const DirectorySlot& slot, UndoStream* stream, UndoScan* scan);
  /// The header of the transaction that goes on at the beginning of the tail page.
  Status LoadLastHeader(UndoPointer pointer, UndoScan* scan);
  Status RecoverByWalk(const DirectorySlot& slot, UndoStream* stream, UndoScan* scan);
  /// Stores a tail that was found by walking, for the next start.
  Status CompleteSlot(UndoStream* stream);
  /// The XID of a prepared transaction, and which indexes it changed: its coordinator will ask
  /// which tables it affects.
  Status LoadXid(UndoPointer pointer, Txn* txn) const;
  /// Walks a transaction without a list of them: short, with very many, or of an older build.
  Status CollectIndexes(Txn* txn) const;
  Status MakeUnfinished(UndoStream* stream, const UndoScan& scan);

  UndoStreams* const streams_;
  UndoSpace* const space_;
  std::vector<std::unique_ptr<Txn>> unfinished_;
  uint64_t txn_max_ = 0;
  uint64_t csn_max_ = 0;
};

}  // namespace rowan
