// SPDX-License-Identifier: GPL-2.0-only
// Small helpers shared by the files that implement Tree. Not for other folders.
#pragma once

#include "buffer/mini_txn.h"
#include "buffer/page_guard.h"

namespace rowan {

/// Hands a page whose exclusive latch was just taken to the mini-transaction.
inline MutablePage AdoptLatched(MiniTxn* mini_txn, const OptimisticPage& page) {
  return mini_txn->Adopt(
      PageGuard(page.frame, const_cast<std::byte*>(page.page), LatchMode::kExclusive));
}

}  // namespace rowan
