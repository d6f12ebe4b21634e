// SPDX-License-Identifier: GPL-2.0-only
// TableShare: what all handlers of one server table share: the engine's table and the codec
// compiled from the table's definition, which also tells the engine where key parts end. Lives as
// long as the server's TABLE_SHARE. Thread safety: constant after creation; flags for reporting
// once may be read by any thread.
#pragma once

#include <atomic>
#include <memory>

#include "sql/handler.h"

#include "engine/engine.h"
#include "plugin/codec/table_codec.h"

namespace rowan {

class TableShare : public Handler_share {
 public:
  /// `settings`: the table's options for its statistics.
  TableShare(std::shared_ptr<Table> table, std::unique_ptr<TableCodec> codec,
             const Cardinalities::Settings& settings)
      : table_(std::move(table)), codec_(std::move(codec)) {
    table_->cardinalities()->Describe(codec_, settings);
  }

  [[nodiscard]] Table* table() const { return table_.get(); }
  [[nodiscard]] const TableCodec& codec() const { return *codec_; }
  /// DISCARD TABLESPACE: the table may not be used before IMPORT TABLESPACE. Set before it is
  /// shared.
  [[nodiscard]] bool discarded() const { return discarded_; }
  void SetDiscarded(bool discarded) { discarded_ = discarded; }
  /// Why the file of a partition with a stand-in cannot be read. Set before it is shared.
  [[nodiscard]] const Status& lost() const { return lost_; }
  void SetLost(Status why) { lost_ = why; }
  /// True if the AUTO_INCREMENT counter matches the rows: not for a partition whose file is lost,
  /// nor for one discarded in that state. Set before it is shared.
  [[nodiscard]] bool counted() const { return counter_known_ && lost_.ok(); }
  void SetCounterLost() { counter_known_ = false; }
  /// True once for all handlers: report that entries differ from the present values of expressions.
  [[nodiscard]] bool MayTellOfOtherSettings() { return !told_of_other_settings_.exchange(true); }
  /// True if rows can be read and changed.
  [[nodiscard]] bool readable() const { return !discarded_ && lost_.ok(); }

 private:
  const std::shared_ptr<Table> table_;
  const std::shared_ptr<const TableCodec> codec_;
  bool discarded_ = false;
  bool counter_known_ = true;
  Status lost_;
  std::atomic<bool> told_of_other_settings_{false};
};

/// For an open engine table and the server's definition of it. kTableChanged: they differ.
Result<std::unique_ptr<TableShare>> ShareOf(TABLE* table, std::shared_ptr<Table> opened);
/// The same for one to be opened, with its AUTO_INCREMENT counter.
Result<std::unique_ptr<TableShare>> OpenShare(TABLE* table, TableId id);
/// Logs why the table cannot be opened; returns the handler error.
int FailOpen(THD* thd, const char* name, Status status);

}  // namespace rowan
