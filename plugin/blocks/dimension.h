// SPDX-License-Identifier: GPL-2.0-only
// Dimension: a table with few rows that a scan's rows are joined with, and the keys of those of its
// rows that meet its condition, by the session's snapshot with its own changes.
// Thread safety: Read is the session's; const afterwards.
#pragma once

#include <string>

#include "plugin/blocks/block_reader.h"
#include "plugin/blocks/key_set.h"

namespace rowan {

class TablePart;

/// A value that can be a key of a set: values are equal for the server if, and only if, they are
/// the same.
bool IsKeyOfSet(const ValueType& type);
/// A text's is a hash: another text may have the same.
uint64_t KeyOfSet(ValueKind kind, const ValueVector& values, RowNumber row);

class Dimension {
 public:
  /// `part` outlives it; `plan`: all rows of the table; `key`: a value of the plan.
  Dimension(const TablePart* part, BlockPlan plan, ValueId key)
      : part_(part), reader_(std::move(plan), kBatchRowsMax), key_(key) {}

  void Read();

  /// Programs have decided on all rows: nobody else has anything to say on one.
  [[nodiscard]] bool is_decided() const { return is_decided_; }
  /// All keys are there. REQUIRES: is_decided.
  [[nodiscard]] bool is_complete() const { return is_complete_; }
  /// The part of the rows that have been taken.
  [[nodiscard]] double share() const {
    return rows_ == 0 ? 0 : static_cast<double>(taken_) / static_cast<double>(rows_);
  }
  [[nodiscard]] const KeySet& keys() const { return keys_; }

 private:
  Status ReadRows(TableCursor* cursor);
  void TakeKeys(const ValueVector& values);

  const TablePart* const part_;
  BlockReader reader_;
  const ValueId key_;
  KeySet keys_;
  uint64_t rows_ = 0;
  uint64_t taken_ = 0;
  bool is_decided_ = false;
  bool is_complete_ = true;
};

}  // namespace rowan
