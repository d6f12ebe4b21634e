// SPDX-License-Identifier: GPL-2.0-only
// GroupedRows: the rows of a table filtered and brought together by group in batches. A scan then
// delivers, in place of the rows, the first row of each group, and with it what the aggregates have
// of the group (partial_aggregate.h). A row that the programs leave to the server is delivered as
// it is, after the groups of the rows before it. So the server brings together what belongs
// together: it may get several parts of one group.
//
// Memory is bounded: too many groups are delivered before the scan is at its end.
// Sums of doubles depend on the order of additions: only a group's first part may be a sum, which
// the server's would have come to. After it, and after a row aside, all rows are the server's.
// Of a large scan, other threads may read a part (grouped_pieces.h).
// Thread safety: one thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "plugin/blocks/block_reader.h"
#include "plugin/blocks/group_states.h"
#include "plugin/blocks/grouped_pieces.h"
#include "plugin/handler/block_rows.h"

namespace rowan {

class GroupedRows final : public BlockRows {
 public:
  GroupedRows(BlockPlan plan, std::vector<ValueId> keys, std::vector<Aggregate> aggregates);

  void Restart(const RowPlan::Range* keys) override;
  Status Next(TableCursor* reader, unsigned char* record) override;
  [[nodiscard]] std::string description() const override {
    return ", aggregated in batches" + block_.description();
  }

  // --- about what was delivered last ---
  /// It is a group; if not, a row.
  [[nodiscard]] bool is_group() const { return is_group_; }
  [[nodiscard]] const AggregateState& StateOf(size_t aggregate) const {
    return shown_->StateOf(group_, aggregate);
  }
  /// Digits after the point of a sum.
  [[nodiscard]] uint32_t ScaleOf(const Aggregate& aggregate) const {
    return block_.values().TypeOf(aggregate.value).scale;
  }
  /// Puts the row with the group's least or greatest value into the record, and the group's first
  /// row again. The group has one.
  Status ShowExtreme(size_t aggregate);
  Status ShowFirst();

 private:
  Status TryNext();
  Status OpenPieces();
  Status NextOfPieces();
  Status GoOn();
  Status GoOnInBatch();
  [[nodiscard]] bool BatchIsDone() const {
    return row_at_ == block_.rows().size() && aside_at_ == block_.aside().size();
  }
  Status Show(const RowCopy& row);
  void LeaveRest(Batch* batch, Selection* rows);
  void StartDelivery();
  void PassTo(size_t row);
  void CountExamined(size_t delivered);

  const std::vector<ValueId> keys_;
  const std::vector<Aggregate> aggregates_;
  BlockReader block_;
  const bool adds_in_order_;  ///< there are sums of doubles
  bool leaves_rest_ = false;  ///< of the rows to the server, one by one
  GroupStates states_;
  std::unique_ptr<GroupedPieces> pieces_;  ///< instead of `states_`; null: read by one thread
  const GroupStates* shown_ = nullptr;     ///< those of the group
  TableCursor* reader_ = nullptr;
  unsigned char* record_ = nullptr;
  bool has_begun_ = false;
  bool at_end_ = false;
  size_t row_at_ = 0;     ///< the next one of the batch's rows
  size_t aside_at_ = 0;   ///< the next one of those aside
  size_t passed_ = 0;     ///< of the batch's rows, those read
  size_t uncounted_ = 0;  ///< rows that were read and are not counted as examined, at least groups
  bool delivers_groups_ = false;
  bool delivers_aside_ = false;  ///< once the groups are delivered
  uint32_t next_group_ = 0;
  uint32_t group_ = 0;
  bool is_group_ = false;
};

}  // namespace rowan
