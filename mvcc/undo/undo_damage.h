// SPDX-License-Identifier: GPL-2.0-only
// Thread safety: all functions.
#pragma once

#include "base/status.h"
#include "buffer/buffer_pool.h"
#include "mvcc/undo/undo_page.h"

namespace rowan {

/// Logs and returns kCorrupt: the record does not fit its type, or what refers to it.
inline Status ReportDamagedRecord(BufferPool* pool, const UndoRecordCopy& record) {
  return pool->ReportDamage(record.page, "a record of a change is malformed", record.index);
}

}  // namespace rowan
