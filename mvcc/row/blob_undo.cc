// SPDX-License-Identifier: GPL-2.0-only
#include "mvcc/row/blob_undo.h"

#include "mvcc/undo/undo_damage.h"

namespace rowan {

Status FreeBlobOf(const UndoRecordCopy& record, BlobStore* blobs, WorkBudget* budget) {
  if (record.payload.size() != kBlobRefBytes) return ReportDamagedRecord(blobs->pool(), record);
  const Status status = blobs->Free(LoadBlobRef(record.payload.data()), budget);
  return status.Is(Code::kNotFound) ? Status::Ok() : status;  // its space is gone
}

}  // namespace rowan
