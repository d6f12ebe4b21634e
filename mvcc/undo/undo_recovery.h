// SPDX-License-Identifier: GPL-2.0-only
// UndoRecovery: finding the streams again after a restart. Of each stream the tail page, the page
// where purge goes on and the header of the last transaction are read: what is between them is
// summed up in the tail page. A stream that an older version of Rowan has written is walked over
// instead. Thread safety: one thread, before the streams are used.
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
    kLeaveStream,    ///< a stream whose ends cannot be read is left out
    kLeaveDirectory  ///< also those that the directory does not tell of: nothing will be written
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
  /// The tail was found by walking: the next start shall know it.
  Status CompleteSlot(UndoStream* stream);
  /// The XID of a prepared transaction, and which indexes it changed: its coordinator will ask
  /// which tables it holds.
  Status LoadXid(UndoPointer pointer, Txn* txn) const;
  /// Walks over one that has no list of them: it is short, has very many, or is of an older build.
  Status CollectIndexes(Txn* txn) const;
  Status MakeUnfinished(UndoStream* stream, const UndoScan& scan);

  UndoStreams* const streams_;
  UndoSpace* const space_;
  std::vector<std::unique_ptr<Txn>> unfinished_;
  uint64_t txn_max_ = 0;
  uint64_t csn_max_ = 0;
};

}  // namespace rowan
