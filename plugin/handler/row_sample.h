// SPDX-License-Identifier: GPL-2.0-only
// RowSample: the state of the server's sample of a table's rows, by leaves of its engine tables
// (engine/table_sample.h). Thread safety: one thread at a time.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/table_sample.h"

namespace rowan {

class RowSample {
 public:
  RowSample(double percentage, int seed)
      : share_(percentage / 100), random_(static_cast<uint64_t>(seed)) {}

  /// Continues in a table on which the reader's clustered scan is open. Both outlive the sample.
  void Enter(TableCursor* reader, Table* table) { rows_.emplace(reader, table, share_, &random_); }
  /// The next row of the table entered last. kEndOfRange.
  Status Next(void* record) {
    ++rows_read_;
    return rows_->Next(record);
  }
  [[nodiscard]] uint64_t rows_read() const { return rows_read_; }

 private:
  const double share_;
  Random random_;  ///< one for all tables, so that partitions are sampled differently
  std::optional<TableSample> rows_;
  uint64_t rows_read_ = 0;
};

}  // namespace rowan
