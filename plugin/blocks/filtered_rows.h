// SPDX-License-Identifier: GPL-2.0-only
// FilteredRows: the rows of a table that meet the condition of the block, in the order of the scan,
// maybe without some that are not needed. Of a large scan, other threads may read a part
// (filtered_pieces.h). Thread safety: one thread.
#pragma once

#include <memory>
#include <string>

#include "plugin/blocks/block_reader.h"
#include "plugin/blocks/filtered_pieces.h"
#include "plugin/blocks/row_reduction.h"
#include "plugin/handler/block_rows.h"

namespace rowan {

class FilteredRows final : public BlockRows {
 public:
  /// `reduction`: null: all rows are needed.
  FilteredRows(BlockPlan plan, std::unique_ptr<RowReduction> reduction);

  void Restart(const RowPlan::Range* keys) override;
  Status Next(TableCursor* reader, unsigned char* record) override;
  [[nodiscard]] std::string description() const override;

 private:
  Status TryNext(TableCursor* reader, unsigned char* record);
  Status NextAlone(TableCursor* reader, unsigned char* record);
  Status NextOfPieces(TableCursor* reader, unsigned char* record);
  Status OpenPieces(TableCursor* reader);
  void ReadAlone(std::vector<RowPlan::Range> ranges);
  [[nodiscard]] bool MayAskForHelp() const;
  /// Up to the row with this number, which is delivered, or has an error, among those of the batch
  /// or piece.
  void CountUpTo(uint64_t number, const Status& status);
  /// The batch or piece is over, which has so many rows.
  void CountRest(uint64_t rows);
  Status NextBatch(TableCursor* reader);

  BlockReader block_;
  const std::unique_ptr<RowReduction> reduction_;
  std::unique_ptr<FilteredPieces> pieces_;  ///< null: `block_` reads what is left
  bool in_pieces_ = false;                  ///< not in what they leave to `block_`
  bool has_asked_ = false;                  ///< for help
  uint64_t rows_alone_ = 0;                 ///< read before that
  size_t row_at_ = 0;                       ///< the next one of the batch's rows
  size_t plain_rows_ = 0;                   ///< their number, if none is aside
  size_t aside_at_ = 0;                     ///< the next one of those aside
  uint64_t counted_ = 0;                    ///< of the batch's or piece's rows, as examined
};

}  // namespace rowan
