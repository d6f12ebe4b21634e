// SPDX-License-Identifier: GPL-2.0-only
// FilteredRows: the rows of a table that meet the condition of the block, in the order of the scan,
// maybe without some that are not needed. Thread safety: one thread.
#pragma once

#include <memory>
#include <string>

#include "plugin/blocks/block_reader.h"
#include "plugin/blocks/row_reduction.h"
#include "plugin/handler/block_rows.h"

namespace rowan {

class FilteredRows final : public BlockRows {
 public:
  /// `reduction`: null: all rows are needed.
  FilteredRows(BlockPlan plan, std::unique_ptr<RowReduction> reduction);

  void Restart() override;
  Status Next(TableCursor* reader, unsigned char* record) override;
  [[nodiscard]] std::string description() const override;

 private:
  Status TryNext(TableCursor* reader, unsigned char* record);
  Status Deliver(RowNumber row);
  Status NextBatch(TableCursor* reader);

  BlockReader block_;
  const std::unique_ptr<RowReduction> reduction_;
  size_t row_at_ = 0;    ///< the next one of the batch's rows
  size_t aside_at_ = 0;  ///< the next one of those aside
  size_t counted_ = 0;   ///< of the batch's rows, as examined
};

}  // namespace rowan
