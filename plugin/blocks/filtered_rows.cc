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

FilteredRows::FilteredRows(BlockPlan plan) : block_(std::move(plan), kFirstBatchOfRows) {}

void FilteredRows::Restart() {
  block_.Restart();
  row_at_ = aside_at_ = 0;
}

Status FilteredRows::Next(TableCursor* reader, unsigned char* record) {
  return OrOutOfMemory([&] { return TryNext(reader, record); });
}

Status FilteredRows::TryNext(TableCursor* reader, unsigned char* record) {
  for (;;) {
    const Selection& rows = block_.rows();
    const bool has_row = row_at_ < rows.size();
    const bool has_aside = aside_at_ < block_.aside().size();
    Status status;
    if (has_aside && (!has_row || block_.aside()[aside_at_] < rows.begin()[row_at_])) {
      AddCounter(Counter::kBlockRowsAside);
      status = block_.PutIfPasses(block_.aside()[aside_at_++], record);
      if (!status.Is(Code::kNotFound)) return status;
    } else if (has_row) {
      status = block_.Put(rows.begin()[row_at_++], record);
      if (!status.Is(Code::kNotFound)) return status;  // an entry without a row
    } else {
      row_at_ = aside_at_ = 0;
      status = block_.NextBatch(reader, [](Batch*, Selection*) {});
      if (!status.ok()) return status;
    }
  }
}

}  // namespace rowan
