// SPDX-License-Identifier: GPL-2.0-only
// BatchSource: the entries of some ranges of an index, in order, in batches for programs
// (plugin/program/). Thread safety: one thread.
#pragma once

#include <array>
#include <vector>

#include "engine/table_cursor.h"
#include "plugin/handler/row_plan.h"
#include "plugin/program/selection.h"

namespace rowan {

class BatchSource {
 public:
  /// Ascending, none of which overlap; one without bounds is the whole index. `first_batch`:
  /// entries that the first batch may have; the next ones grow.
  BatchSource(std::vector<RowPlan::Range> ranges, size_t first_batch)
      : ranges_(std::move(ranges)), first_batch_(first_batch) {}

  void Restart();
  /// Of a scan that is read in pieces: reads these from now on, from the first one's start.
  void SetRanges(std::vector<RowPlan::Range> ranges);
  /// What is left behind the rows that were handed out last.
  [[nodiscard]] std::vector<RowPlan::Range> Rest() const;
  /// The next rows, at least one, all of one range. They stay until the next call. kEndOfRange.
  Status Next(TableCursor* reader, StoredRows* rows);

 private:
  Status Advance(TableCursor* reader);

  std::vector<RowPlan::Range> ranges_;
  const size_t first_batch_;
  size_t next_range_ = 0;
  bool in_range_ = false;
  EntryBatch batch_;
  size_t taken_ = 0;     ///< of the batch
  uint32_t handed_ = 0;  ///< rows handed out last
  std::array<Bytes, kBatchRowsMax> keys_;
  std::array<Bytes, kBatchRowsMax> values_;
};

}  // namespace rowan
