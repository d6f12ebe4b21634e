// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/blocks/batch_source.h"

#include <algorithm>

namespace rowan {

void BatchSource::Restart() {
  next_range_ = 0;
  in_range_ = false;
  batch_ = {};
  taken_ = 0;
}

Status BatchSource::Advance(TableCursor* reader) {
  taken_ = 0;
  batch_ = {};
  Status status(Code::kEndOfRange);
  if (in_range_) status = reader->NextBatch(&batch_);
  while (status.Is(Code::kEndOfRange)) {
    in_range_ = false;
    if (next_range_ == ranges_.size()) return status;
    const RowPlan::Range& range = ranges_[next_range_++];
    in_range_ = true;
    status = reader->FirstBatch({range.from, range.end}, first_batch_, &batch_);
  }
  return status;
}

Status BatchSource::Next(TableCursor* reader, StoredRows* rows) {
  if (taken_ == batch_.size()) {
    if (const Status status = Advance(reader); !status.ok()) return status;
  }
  const size_t count = std::min<size_t>(kBatchRowsMax, batch_.size() - taken_);
  for (size_t i = 0; i < count; ++i) {
    keys_[i] = batch_.KeyOf(taken_ + i);
    values_[i] = batch_.ValueOf(taken_ + i);
  }
  taken_ += count;
  *rows = {keys_.data(), values_.data(), static_cast<uint32_t>(count)};
  return Status::Ok();
}

}  // namespace rowan
