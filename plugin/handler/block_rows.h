// SPDX-License-Identifier: GPL-2.0-only
// BlockRows: what a table's scan delivers instead of its rows, one after the other, when a whole
// query block is evaluated in the engine (plugin/blocks/). The server calls the handler as for any
// scan. Thread safety: the handler's.
#pragma once

#include <string>

#include "base/status.h"
#include "plugin/handler/row_plan.h"

namespace rowan {

class TableCursor;

class BlockRows {
 public:
  BlockRows() = default;
  virtual ~BlockRows() = default;
  BlockRows(const BlockRows&) = delete;
  BlockRows& operator=(const BlockRows&) = delete;

  /// The scan begins anew. `keys`: of a look-up, which reads these only; null: none.
  virtual void Restart(const RowPlan::Range* keys) = 0;
  /// Puts the next row into the record. `reader`: its scan is open and prepared. kEndOfRange
  /// and nothing else is the end.
  virtual Status Next(TableCursor* reader, unsigned char* record) = 0;
  /// For EXPLAIN.
  [[nodiscard]] virtual std::string description() const = 0;
};

}  // namespace rowan
