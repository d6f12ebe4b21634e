// SPDX-License-Identifier: GPL-2.0-only
// SemiJoins: of the rows of a scan, those for which each dimension has a row with their key. The
// server joins the rows that are left, so others may be among them: those with a value that is not
// read of the stored row, all if a dimension cannot be decided on, and all once few are dropped.
//
// A row that a dimension drops is not looked up in those that the plan joins after it, nor in those
// before it. So a dimension counts only if no row of those before it has anything to say: programs
// have decided on all of them.
// Thread safety: one thread. Others get one each; they share the dimensions.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "plugin/blocks/dimension.h"
#include "plugin/blocks/row_reduction.h"

namespace rowan {

class SemiJoins final : public RowReduction {
 public:
  struct Join {
    ValueId value{};  ///< of the scan's plan; NULL is no key
    std::unique_ptr<Dimension> dimension;
  };
  /// In the order in which the plan joins them. `description`: for EXPLAIN.
  SemiJoins(std::vector<Join> joins, std::string description);

  void Restart() override {}
  void Reduce(Batch* batch, Selection* rows) override;
  [[nodiscard]] std::unique_ptr<RowReduction> MakeAnother() const override;
  [[nodiscard]] std::string description() const override { return all_->description; }

 private:
  /// Of all threads.
  struct All {
    std::vector<Join> joins;
    std::string description;
    bool are_read = false;
    std::vector<const Join*> usable;  ///< those that drop most come first
  };
  /// What a thread knows of one that is usable.
  struct Tally {
    uint64_t offered = 0;
    uint64_t dropped = 0;
  };

  explicit SemiJoins(std::shared_ptr<All> all) : all_(std::move(all)) {}
  void ReadDimensions() const;
  static void Drop(const Join& join, Batch* batch, Selection* rows);

  const std::shared_ptr<All> all_;
  std::vector<Tally> tallies_;
};

}  // namespace rowan
