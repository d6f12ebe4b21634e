// SPDX-License-Identifier: GPL-2.0-only
// Batch: up to kBatchRowsMax stored rows, and the values of a plan that were read of them.
//
// Rows put aside. A row that a program cannot decide (a value off the page, a row of an earlier
// form of the table, an overflow that is an error or a warning) is put aside: it leaves the
// selection at hand, and whoever runs the batch decodes it and has the server evaluate the original
// condition and expressions. So a row is in the selection that comes out, or aside, or rejected.
//
// How to use it, per batch:
//   batch.Start(rows, &selection);       // all rows but some that are aside at once
//   filter.Run(&batch, &selection);      // for which the condition is true
//   const ValueVector& price = batch.Read(price_id, &selection);     // all the values first,
//   const ValueVector& amount = batch.Read(amount_id, &selection);   // as rows may go aside here;
//   for (RowNumber row : selection) ...                              // then the rows that are left
//   batch.aside().ForEach(...)
//
// No memory is allocated after the constructor.
// Thread safety: one thread at a time.
#pragma once

#include <vector>

#include "plugin/program/batch_plan.h"

namespace rowan {

class Batch {
 public:
  /// When all programs are compiled. The plan outlives the batch.
  explicit Batch(const BatchPlan& plan);

  /// Forgets all values. `*rows`: those that are not aside.
  void Start(const StoredRows& stored, Selection* rows);
  /// The values of `*rows` (and of whatever was read before), until the next Start. Takes from
  /// `*rows` those that it puts aside. REQUIRES: none of `*rows` is aside.
  const ValueVector& Read(ValueId id, Selection* rows);
  /// Rows that are left to the server.
  [[nodiscard]] const RowSet& aside() const { return aside_; }

  // --- for programs ---
  void PutAside(RowNumber row) { aside_.Add(row); }
  [[nodiscard]] const StoredRows& stored() const { return stored_; }
  [[nodiscard]] const BatchPlan& plan() const { return plan_; }

 private:
  struct Slot {
    ValueVector values;
    RowSet read;
    bool touched = false;   ///< some row has been read
    bool complete = false;  ///< all rows have been read that are not aside
  };

  const BatchPlan& plan_;
  StoredRows stored_;
  RowSet aside_;
  uint32_t decided_count_ = 0;  ///< rows that Start selected
  std::vector<Slot> slots_;
};

}  // namespace rowan
