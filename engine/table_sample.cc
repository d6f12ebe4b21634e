// SPDX-License-Identifier: GPL-2.0-only
#include "engine/table_sample.h"

namespace rowan {

Status TableSample::Next(void* record) {
  if (whole_) return cursor_->Next(record);
  Status status(Code::kEndOfRange);
  if (reading_) status = cursor_->Next(record);
  while (status.Is(Code::kEndOfRange)) {
    reading_ = false;
    const Status chosen = leaves_.Next();
    if (!chosen.ok()) return chosen;
    cursor_->SetEnd(leaves_.end());
    const Bytes from = leaves_.from();
    status = from.empty() ? cursor_->SeekFirst(record) : cursor_->SeekAtLeast(from, record);
  }
  reading_ = status.ok();
  return status;
}

}  // namespace rowan
