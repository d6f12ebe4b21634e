// SPDX-License-Identifier: GPL-2.0-only
#include "mvcc/undo/undo_scan.h"

#include <algorithm>

namespace rowan {

Status UndoScan::WalkPage(const UndoSpace& space, PageNumber page, const std::byte* page_bytes,
                          uint16_t from) {
  const size_t free = UndoFreeOf(page_bytes);
  UndoRecordInPage record;
  for (size_t offset = from; offset < free; offset += record.length) {
    if (!ParseUndoRecord(page_bytes, offset, free, &record)) {
      return space.Damage(page, "an undo record is damaged");
    }
    if (record.type != UndoType::kTxnHeader) {
      if (header.txn == kNoTxn) return space.Damage(page, "an undo record has no transaction");
      if (record.type != UndoType::kXid) ++records;
      bytes += record.length;
      continue;
    }
    if (unfinished()) {
      if (in_use) return Status(Code::kRestart);
      return space.Damage(page, "a transaction begins before the last one ended");
    }
    ++begun;
    const Csn last_csn = header.csn;
    if (!ParseTxnHeader(record, &header)) {
      return space.Damage(page, "the header of a transaction is damaged");
    }
    txn_max = std::max(txn_max, header.txn.value());
    if (header.state == UndoTxnState::kCommitted) {
      if (header.csn <= last_csn) return space.Damage(page, "commits are out of order");
      csn_max = std::max(csn_max, header.csn.value());
      ++committed;
    }
    position = {page, static_cast<uint16_t>(offset)};
    records = 0;
    bytes = 0;
  }
  return Status::Ok();
}

}  // namespace rowan
