// SPDX-License-Identifier: GPL-2.0-only
// RowReduction: takes rows out of batches that what stands above a scan does not need. The server
// does the same to the rows that are left, so it need not find all of them.
// Thread safety: one thread.
#pragma once

#include <memory>
#include <string>

#include "plugin/program/batch.h"

namespace rowan {

class RowReduction {
 public:
  RowReduction() = default;
  virtual ~RowReduction() = default;
  RowReduction(const RowReduction&) = delete;
  RowReduction& operator=(const RowReduction&) = delete;

  /// The scan begins anew.
  virtual void Restart() = 0;
  /// Of the next batch; may put some aside.
  virtual void Reduce(Batch* batch, Selection* rows) = 0;
  /// Another one, which has met no row, for a thread that reads other rows of the same scan.
  [[nodiscard]] virtual std::unique_ptr<RowReduction> MakeAnother() const = 0;
  /// For EXPLAIN.
  [[nodiscard]] virtual std::string description() const = 0;
};

}  // namespace rowan
