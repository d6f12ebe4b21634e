// SPDX-License-Identifier: GPL-2.0-only
// DistinctRows: of the rows below a step that takes equal ones together, the first one of each
// combination of stored values. It may let others pass: what has come is forgotten when it takes
// too much memory, and nothing is remembered once most rows differ. Thread safety: one thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "plugin/blocks/group_table.h"
#include "plugin/blocks/row_reduction.h"
#include "plugin/blocks/stored_key.h"

namespace rowan {

class DistinctRows final : public RowReduction {
 public:
  /// `values`: all that the step sees of a row.
  explicit DistinctRows(const std::vector<ValueId>& values) : values_(values), key_(values) {}

  void Restart() override;
  void Reduce(Batch* batch, Selection* rows) override;
  [[nodiscard]] std::unique_ptr<RowReduction> MakeAnother() const override {
    return std::make_unique<DistinctRows>(values_);
  }
  [[nodiscard]] std::string description() const override {
    return ", repeated rows dropped in batches";
  }

 private:
  void Forget();

  const std::vector<ValueId> values_;
  StoredKey key_;
  GroupTable table_;  ///< of those that came
  ByteBuffer bytes_;
  uint64_t offered_ = 0;  ///< rows, since the table was empty
  bool has_given_up_ = false;
};

}  // namespace rowan
