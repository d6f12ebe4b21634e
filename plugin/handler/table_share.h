// SPDX-License-Identifier: GPL-2.0-only
// TableShare: what all handlers of one server table share: the engine's table and the codec
// compiled from the table's definition, which also tells the engine where key parts end. Lives as
// long as the server's TABLE_SHARE. Thread safety: constant after creation; what is reported once
// may be asked by any thread.
#pragma once

#include <atomic>
#include <memory>

#include "sql/handler.h"

#include "engine/engine.h"
#include "plugin/codec/table_codec.h"

namespace rowan {

class TableShare : public Handler_share {
 public:
  /// `settings`: what the table says about its statistics.
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
  /// Why the file of a partition cannot be read, for which a stand-in was opened. Set before it is
  /// shared.
  [[nodiscard]] const Status& lost() const { return lost_; }
  void SetLost(Status why) { lost_ = why; }
  /// The AUTO_INCREMENT counter is that of the rows: not of a partition whose file is lost, nor of
  /// one that was discarded so. Set before it is shared.
  [[nodiscard]] bool counted() const { return counter_known_ && lost_.ok(); }
  void SetCounterLost() { counter_known_ = false; }
  /// True once for all handlers: report that entries differ from what expressions give now.
  [[nodiscard]] bool MayTellOfOtherSettings() { return !told_of_other_settings_.exchange(true); }
  /// Rows can be read and changed.
  [[nodiscard]] bool readable() const { return !discarded_ && lost_.ok(); }

 private:
  const std::shared_ptr<Table> table_;
  const std::shared_ptr<const TableCodec> codec_;
  bool discarded_ = false;
  bool counter_known_ = true;
  Status lost_;
  std::atomic<bool> told_of_other_settings_{false};
};

/// Of an open engine table and what the server knows of it. kTableChanged: they differ.
Result<std::unique_ptr<TableShare>> ShareOf(TABLE* table, std::shared_ptr<Table> opened);
/// The same of one that is to be opened, with its AUTO_INCREMENT counter.
Result<std::unique_ptr<TableShare>> OpenShare(TABLE* table, TableId id);
/// Writes to the log why the table cannot be opened; the handler error.
int FailOpen(THD* thd, const char* name, Status status);

}  // namespace rowan
