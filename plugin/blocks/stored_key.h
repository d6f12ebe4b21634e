// SPDX-License-Identifier: GPL-2.0-only
// StoredKey: the stored values of some columns of a row as bytes that are equal if the values are
// the same in all that can be seen of them: 'a' and 'A' are not, nor 0 and -0. So it tells rows
// apart that the server may bring together, and never the other way round.
// Thread safety: one thread.
#pragma once

#include <vector>

#include "engine/row_codec.h"
#include "plugin/program/batch.h"

namespace rowan {

class StoredKey {
 public:
  explicit StoredKey(std::vector<ValueId> values) : ids_(std::move(values)) {}

  [[nodiscard]] bool empty() const { return ids_.empty(); }
  /// Reads the values; rows that go aside leave `*rows`.
  void Read(Batch* batch, Selection* rows);
  /// Of a row of the batch read last.
  void Encode(const BatchPlan& plan, RowNumber row, ByteBuffer* key) const;

 private:
  const std::vector<ValueId> ids_;
  std::vector<const ValueVector*> values_;  ///< of the batch
};

}  // namespace rowan
