// SPDX-License-Identifier: GPL-2.0-only
// FilteredRows: the rows of a table that meet the block's condition, in the order of the scan.
// Thread safety: one thread.
#pragma once

#include <string>

#include "plugin/blocks/block_reader.h"
#include "plugin/handler/block_rows.h"

namespace rowan {

class FilteredRows final : public BlockRows {
 public:
  explicit FilteredRows(BlockPlan plan);

  void Restart() override;
  Status Next(TableCursor* reader, unsigned char* record) override;
  [[nodiscard]] std::string description() const override {
    return ", filtered in batches" + block_.description();
  }

 private:
  Status TryNext(TableCursor* reader, unsigned char* record);
  Status Deliver(RowNumber row);
  Status NextBatch(TableCursor* reader);

  BlockReader block_;
  size_t row_at_ = 0;    ///< the next one of the batch's rows
  size_t aside_at_ = 0;  ///< the next one of those aside
  size_t counted_ = 0;   ///< of the batch's rows, as examined
};

}  // namespace rowan
