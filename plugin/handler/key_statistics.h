// SPDX-License-Identifier: GPL-2.0-only
// KeyStatistics: how many rows share a key, published by a handler in the server's table. Takes no
// lock that writers hold. Thread safety: the handler's.
#pragma once

#include "plugin/handler/table_part.h"

namespace rowan {

class KeyStatistics {
 public:
  /// `always`: even if the same was published before.
  void Publish(const TablePart& part, bool always);

 private:
  // What was published last.
  const Table* table_ = nullptr;
  uint64_t state_ = 0;
};

/// Cost of reading rows by the primary key, in pages.
double RowsReadTime(const Table::Statistics& now, uint ranges, ha_rows rows);

}  // namespace rowan
