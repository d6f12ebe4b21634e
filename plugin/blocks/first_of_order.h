// SPDX-License-Identifier: GPL-2.0-only
// FirstOfOrder: of the rows below a sort that delivers only its first ones, those that may be among
// them. A row goes if as many rows as are wanted come before it or are equal to it, and were in the
// scan before it. Thread safety: one thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "plugin/blocks/row_reduction.h"
#include "plugin/blocks/sort_values.h"

namespace rowan {

class FirstOfOrder final : public RowReduction {
 public:
  /// Most rows wanted. A heap of more does not stay in the processor's caches.
  static constexpr uint32_t kCountMax = 16384;

  /// `plan` outlives it. `count`: rows wanted, from 1 to kCountMax.
  FirstOfOrder(const BatchPlan& plan, const std::vector<SortKey>& keys, uint32_t count);

  void Restart() override;
  void Reduce(Batch* batch, Selection* rows) override;
  [[nodiscard]] std::unique_ptr<RowReduction> MakeAnother() const override {
    return std::make_unique<FirstOfOrder>(plan_, keys_, count_);
  }
  [[nodiscard]] std::string description() const override {
    return ", first " + std::to_string(count_) + " kept in batches";
  }

 private:
  /// One of the first so far.
  struct Slot {
    uint32_t batch = 0;  ///< the number of the batch that it is of
    RowNumber row = 0;
  };

  void Offer(RowNumber row);
  [[nodiscard]] bool IsBefore(uint32_t slot, uint32_t other) const;
  [[nodiscard]] bool IsBefore(RowNumber row, uint32_t slot) const;

  const BatchPlan& plan_;
  const std::vector<SortKey> keys_;
  const uint32_t count_;
  SortValues values_;           ///< by slot
  std::vector<Slot> slots_;     ///< at most `count_`
  std::vector<uint32_t> heap_;  ///< slots, the last one of the order at the top
  uint32_t batch_ = 0;
  bool has_given_up_ = false;  ///< the values take too much memory
};

}  // namespace rowan
