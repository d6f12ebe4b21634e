// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/blocks/filtered_rows.h"

#include <utility>

#include "base/counters.h"
#include "base/out_of_memory.h"

namespace rowan {
namespace {

/// A LIMIT may be reached at once.
constexpr size_t kFirstBatchOfRows = 16;

}  // namespace

FilteredRows::FilteredRows(BlockPlan plan, std::unique_ptr<RowReduction> reduction)
    : block_(std::move(plan), kFirstBatchOfRows), reduction_(std::move(reduction)) {}

std::string FilteredRows::description() const {
  const std::string filtered = block_.has_filter() ? ", filtered in batches" : "";
  return (reduction_ == nullptr ? "" : reduction_->description()) + filtered + block_.description();
}

void FilteredRows::Restart() {
  block_.Restart();
  if (reduction_ != nullptr) reduction_->Restart();
  row_at_ = aside_at_ = counted_ = 0;
}

/// Delivers a row of the batch. Those passed over since the one before have been examined, too.
Status FilteredRows::Deliver(RowNumber row) {
  BlockReader::CountExamined(row - counted_);
  counted_ = row + size_t{1};
  return Status::Ok();
}

Status FilteredRows::NextBatch(TableCursor* reader) {
  BlockReader::CountExamined(block_.size() - counted_);
  row_at_ = aside_at_ = counted_ = 0;
  return block_.NextBatch(reader, [this](Batch* batch, Selection* passing) {
    if (reduction_ != nullptr) reduction_->Reduce(batch, passing);
  });
}

Status FilteredRows::Next(TableCursor* reader, unsigned char* record) {
  return OrOutOfMemory([&] { return TryNext(reader, record); });
}

Status FilteredRows::TryNext(TableCursor* reader, unsigned char* record) {
  for (;;) {
    const Selection& rows = block_.rows();
    const bool has_row = row_at_ < rows.size();
    const bool has_aside = aside_at_ < block_.aside().size();
    if (!has_row && !has_aside) {
      if (const Status status = NextBatch(reader); !status.ok()) return status;
      continue;
    }
    const bool is_aside =
        has_aside && (!has_row || block_.aside()[aside_at_] < rows.begin()[row_at_]);
    if (is_aside) AddCounter(Counter::kBlockRowsAside);
    const RowNumber row = is_aside ? block_.aside()[aside_at_++] : rows.begin()[row_at_++];
    const Status status = is_aside ? block_.PutIfPasses(row, record) : block_.Put(row, record);
    if (status.ok()) return Deliver(row);
    if (!status.Is(Code::kNotFound)) return status;  // an entry without a row
  }
}

}  // namespace rowan
