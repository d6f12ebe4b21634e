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
  handed_ = 0;
}

void BatchSource::SetRanges(std::vector<RowPlan::Range> ranges) {
  ranges_ = std::move(ranges);
  Restart();
}

std::vector<RowPlan::Range> BatchSource::Rest() const {
  std::vector<RowPlan::Range> rest;
  if (in_range_ && handed_ != 0) {
    RowPlan::Range& first = rest.emplace_back();
    const Bytes last = keys_[handed_ - 1];
    first.from.assign(last.begin(), last.end());
    first.from.push_back(std::byte{0});  // the least key behind it; no second one like it is seen
    first.end = ranges_[next_range_ - 1].end;
  }
  rest.insert(rest.end(), ranges_.begin() + static_cast<ptrdiff_t>(next_range_), ranges_.end());
  return rest;
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
  handed_ = static_cast<uint32_t>(count);
  *rows = {keys_.data(), values_.data(), static_cast<uint32_t>(count)};
  return Status::Ok();
}

}  // namespace rowan
