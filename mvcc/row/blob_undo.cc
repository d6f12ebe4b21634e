// SPDX-License-Identifier: GPL-2.0-only
#include "mvcc/row/blob_undo.h"

#include "base/logging.h"

namespace rowan {

Status FreeBlobOf(const UndoRecordCopy& record, BlobStore* blobs) {
  if (record.payload.size() != kBlobRefBytes) return DamagedRecord(record);
  const Status status = blobs->Free(LoadBlobRef(record.payload.data()));
  return status.Is(Code::kNotFound) ? Status::Ok() : status;  // its space is gone
}

Status DamagedRecord(const UndoRecordCopy& record) {
  LogError("undo record of type {} with {} bytes is damaged", static_cast<int>(record.type),
           record.payload.size());
  return Status(Code::kCorrupt, "damaged undo record");
}

}  // namespace rowan
