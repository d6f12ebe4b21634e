// SPDX-License-Identifier: GPL-2.0-only
// Undo records of blobs, for rollback and purge. Thread safety: all functions.
#pragma once

#include "base/status.h"
#include "base/work_budget.h"
#include "mvcc/undo/undo_page.h"
#include "space/blob_store.h"

namespace rowan {

/// Frees the blob that the record names. Ok if its space is gone. The budget as in
/// UndoApplier::Undo.
Status FreeBlobOf(const UndoRecordCopy& record, BlobStore* blobs, WorkBudget* budget);

}  // namespace rowan
