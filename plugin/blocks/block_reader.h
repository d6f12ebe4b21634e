// SPDX-License-Identifier: GPL-2.0-only
// BlockReader: the rows of a block's table in batches, filtered. A row that the programs leave to
// the server (plugin/program/batch.h) is aside: its condition is evaluated by the server.
// Thread safety: one thread; those that share a plan once it is prepared, one each. What touches
// the server (Prepare, CountExamined, Put...) is the session's.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/function_ref.h"
#include "plugin/blocks/batch_source.h"
#include "plugin/program/filter_program.h"

class Item;

namespace rowan {

/// What is read of a block's table.
struct BlockPlan {
  std::unique_ptr<BatchPlan> values;
  std::unique_ptr<FilterProgram> filter;  ///< null: all rows pass
  Item* condition = nullptr;              ///< the same, for rows that are left to the server
  std::vector<RowPlan::Range> ranges;
  /// The filter is true for all rows between two of one range for which it is.
  bool holds_between = false;
  uint32_t helpers = 0;  ///< threads that may help to read (piece_scan.h)
};

class BlockReader {
 public:
  /// `first_batch`: how many rows the first batch may have.
  BlockReader(BlockPlan plan, size_t first_batch);
  /// Another one by the same plan, for pieces. REQUIRES: the plan is prepared and usable.
  explicit BlockReader(const BlockReader* prepared);

  void Restart();
  /// From the next Restart on, reads these in place of the plan's ranges.
  void LookUp(RowPlan::Range keys) { ranges_.assign(1, std::move(keys)); }
  /// Before the first batch, or at it. False: the programs cannot be used in this execution.
  bool Prepare();
  /// See BatchSource.
  void SetRanges(std::vector<RowPlan::Range> ranges);
  [[nodiscard]] std::vector<RowPlan::Range> Rest() const { return source_.Rest(); }
  /// `read_values`: reads further values of the rows that pass, and may put some aside.
  using ReadValues = FunctionRef<void(Batch* batch, Selection* rows)>;
  /// kEndOfRange.
  Status NextBatch(TableCursor* reader, ReadValues read_values);

  /// For the statement's statistics. The server counts those that are delivered.
  static void CountExamined(uint64_t rows);

  // --- the batch ---
  /// Rows in all.
  [[nodiscard]] uint32_t size() const { return stored_.count; }
  [[nodiscard]] const StoredRows& stored() const { return stored_; }
  /// What programs made of them; nothing where all rows are aside.
  [[nodiscard]] const Batch& batch() const { return batch_; }
  /// Rows that pass.
  [[nodiscard]] const Selection& rows() const { return rows_; }
  /// Rows that may pass, ascending.
  [[nodiscard]] const std::vector<RowNumber>& aside() const { return aside_; }
  /// Puts a row into the record. kNotFound: there is none.
  Status Put(RowNumber row, unsigned char* record) {
    return reader_->PutEntry(stored_.keys[row], stored_.values[row], record);
  }
  /// The same for one that is aside. kNotFound: it does not pass.
  Status PutIfPasses(RowNumber row, unsigned char* record) {
    return PutIfPasses(reader_, {stored_.keys[row], stored_.values[row]}, record);
  }
  /// The same of a row that was kept.
  struct StoredRow {
    Bytes key;
    Bytes value;
  };
  Status PutIfPasses(TableCursor* reader, const StoredRow& row, unsigned char* record) const;

  [[nodiscard]] const BatchPlan& values() const { return *plan_->values; }
  [[nodiscard]] const BlockPlan& plan() const { return *plan_; }
  [[nodiscard]] bool has_filter() const { return plan_->filter != nullptr; }
  /// For EXPLAIN, of this session or another one: by whom the rows are read, and which.
  [[nodiscard]] std::string description() const;

 private:
  void Filter();

  const std::shared_ptr<const BlockPlan> plan_;
  std::vector<RowPlan::Range> ranges_;  ///< of all that is read
  BatchSource source_;
  Batch batch_;
  TableCursor* reader_ = nullptr;
  bool begun_ = false;
  bool is_usable_ = false;  ///< the programs are
  StoredRows stored_;
  Selection rows_;
  std::vector<RowNumber> aside_;
};

}  // namespace rowan
