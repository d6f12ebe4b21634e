// SPDX-License-Identifier: GPL-2.0-only
// UndoStream: one chain of undo pages, and which thread may touch which part of it.
//
// A stream's chain of pages runs from `head` to `tail`. Who may touch what:
//   - the transaction that has the stream: tail, free offset, every page from its header's on. No
//     other thread changes these pages, so it knows the end of the stream without a latch;
//   - purge, one thread per stream (`purging`): head, start, the pages before the start page.
// The page with the end may be shared: the page latch orders those bytes. Pages of one chain are
// latched in chain order. Both change the stream's slot in the directory, each its own fields,
// under the directory page's latch.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/ids.h"
#include "buffer/page_guard.h"
#include "mvcc/txn/undo_pointer.h"
#include "mvcc/undo/purge_window.h"
#include "mvcc/undo/undo_page.h"

namespace rowan {

struct UndoStream {
  uint32_t number = 0;
  // The owner's.
  PageNumber tail;
  uint16_t free = 0;    ///< free offset of the tail page
  uint16_t begin = 0;   ///< of the tail page's records
  OptimisticPage left;  ///< a hint: the page that its last change left, usually the tail
  uint64_t begun = 0;   ///< transactions whose headers were written here, not counting rolled back
  // Purge's.
  PageNumber head;
  /// Just after what is purged: a header, or a record of `purge_txn`; or where the next header will
  /// be.
  UndoPointer start;
  TxnId purge_txn;  ///< `start` lies within this one; kNoTxn = between two
  /// CSN of the transaction at `start`, once read; 0 = unknown. Other threads show it in figures.
  std::atomic<uint64_t> oldest_csn{0};
  /// Where UndoLookahead goes on: a header, or a record of `txn`. Means nothing once purge has
  /// overtaken `csn`, that of the last transaction it entered.
  struct Ahead {
    UndoPointer position;
    TxnId txn;
    uint64_t csn = 0;
  };
  Ahead ahead;
  /// Damage was met here: see UndoStreams::MarkDamaged. Written by the holder of the stream.
  std::atomic<bool> damaged{false};
  /// The last try failed, e.g. at a table that cannot be opened: waiting for purge would not help.
  std::atomic<bool> blocked{false};
  PurgeWindow window;  ///< open: those inside share the stream
  std::atomic<bool> purging{false};
  std::atomic<uint64_t> history{0};  ///< committed transactions from `start` on
  /// The first of these, committed by earlier runs. Purge counts them down.
  std::atomic<uint64_t> history_of_last_run{0};
  /// Their undo records, as far as committed in this run; the owner adds to it.
  std::atomic<uint64_t> records{0};

  /// The owner's: the tail is this page as it is now.
  void SetTail(PageNumber page, const std::byte* bytes) {
    tail = page;
    free = UndoFreeOf(bytes);
    begin = UndoRecordsBegin(bytes);
  }
};

}  // namespace rowan
