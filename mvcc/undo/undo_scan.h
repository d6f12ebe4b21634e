// SPDX-License-Identifier: GPL-2.0-only
// What a walk over records of an undo stream has met so far; used by undo_recover.cc and
// undo_check.cc only.
#pragma once

#include <cstdint>

#include "mvcc/undo/undo_impl.h"

namespace rowan {

struct UndoStreams::Impl::StreamScan {
  TxnHeader header;          ///< of the newest transaction
  UndoPosition begin;        ///< where it stands
  uint64_t records = 0;      ///< of the newest transaction
  uint64_t bytes = 0;        ///< of these, those walked over
  uint64_t begun = 0;        ///< headers met
  uint64_t committed = 0;
  uint64_t txn_max = 0;
  uint64_t csn_max = 0;
  /// The stream is in use: what does not fit the newest transaction as it was met is no damage yet.
  bool in_use = false;

  [[nodiscard]] bool unfinished() const {
    return header.txn != kNoTxn && header.state != UndoTxnState::kCommitted;
  }
};

}  // namespace rowan
