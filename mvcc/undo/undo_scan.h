// SPDX-License-Identifier: GPL-2.0-only
// UndoScan: what a walk over records of an undo stream has met so far. Thread safety: none.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "mvcc/txn/txn.h"
#include "mvcc/undo/undo_space.h"

namespace rowan {

struct UndoScan {
  /// Walks over the records of a page from `from` on. kCorrupt; kRestart, if the stream is in use.
  Status WalkPage(const UndoSpace& space, PageNumber page, const std::byte* page_bytes,
                  uint16_t from);

  TxnHeader header;      ///< of the newest transaction
  UndoPointer position;  ///< where it stands
  uint64_t records = 0;  ///< of the newest transaction
  uint64_t bytes = 0;    ///< of these, as far as walked
  uint64_t begun = 0;    ///< headers met
  uint64_t committed = 0;
  uint64_t txn_max = 0;
  uint64_t csn_max = 0;
  /// The stream is in use: what does not fit the newest transaction as read is not yet damage.
  bool in_use = false;

  [[nodiscard]] bool unfinished() const {
    return header.txn != kNoTxn && header.state != UndoTxnState::kCommitted;
  }
};

}  // namespace rowan
