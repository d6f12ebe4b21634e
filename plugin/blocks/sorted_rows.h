// SPDX-License-Identifier: GPL-2.0-only
// SortedRows: the rows of a table that meet the block's condition, in the order of a sort; of rows
// that are equal in it, the one that came first comes first, or alone.
//
// Memory is bounded: if the rows take too much, the first ones of the order are kept and delivered,
// and the scan begins anew for those that follow. So it is for few rows; a wrong estimate costs
// time. A snapshot shows the same rows each time.
// Thread safety: one thread.
#pragma once

#include <string>
#include <vector>

#include "plugin/blocks/block_reader.h"
#include "plugin/blocks/row_copies.h"
#include "plugin/blocks/sort_values.h"
#include "plugin/handler/block_rows.h"

namespace rowan {

class SortedRows final : public BlockRows {
 public:
  /// Of rows and the values that they are sorted by.
  static constexpr size_t kBytesMax = size_t{1} << 20;

  struct Order {
    std::vector<SortKey> keys;  ///< all with items
    uint64_t count_max = UINT64_MAX;
    bool distinct = false;  ///< one of those that are equal
  };
  SortedRows(BlockPlan plan, const Order& order);

  void Restart(const RowPlan::Range* keys) override;
  Status Next(TableCursor* reader, unsigned char* record) override;
  [[nodiscard]] std::string description() const override {
    return (distinct_ ? ", distinct, sorted in batches" : ", sorted in batches") +
           block_.description();
  }

 private:
  static constexpr uint32_t kNoSlot = UINT32_MAX;
  struct Slot {
    uint64_t arrival = 0;  ///< the how many-th row of the scan
    RowCopy row;
  };

  Status TryNext(TableCursor* reader, unsigned char* record);
  Status Collect(TableCursor* reader, unsigned char* record);
  Status CollectBatch(unsigned char* record, uint64_t* examined);
  uint32_t TakeSlot();
  void Offer(uint32_t slot, RowNumber row);
  void DropLast();
  void Arrange();
  [[nodiscard]] bool IsBefore(uint32_t slot, uint32_t other) const;
  [[nodiscard]] auto Before() const {
    return [this](uint32_t slot, uint32_t other) { return IsBefore(slot, other); };
  }
  [[nodiscard]] bool WasDelivered(uint32_t slot) const;
  [[nodiscard]] size_t bytes() const {
    return values_.bytes() + copies_.bytes() + slots_.size() * sizeof(Slot);
  }

  BlockReader block_;
  const uint64_t count_max_;
  const bool distinct_;
  SortValues values_;  ///< by slot
  RowCopies copies_;
  std::vector<Slot> slots_;
  std::vector<uint32_t> free_;  ///< slots
  /// Slots of the rows of this pass; a heap with the last one of the order at the top while it has
  /// as many as it may have, and sorted at the end.
  std::vector<uint32_t> order_;
  size_t capacity_ = 0;  ///< rows of a pass; 0: memory was enough so far
  uint64_t arrivals_ = 0;
  bool is_collected_ = false;
  bool has_more_ = false;  ///< some rows have been dropped
  size_t next_ = 0;        ///< of `order_`
  uint64_t delivered_ = 0;
  uint32_t last_ = kNoSlot;  ///< of the passes before
};

}  // namespace rowan
