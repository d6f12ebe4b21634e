// SPDX-License-Identifier: GPL-2.0-only
// GroupKey: the values of a row that GROUP BY, DISTINCT or a hash join goes by, as bytes that are
// equal exactly if the server takes the values for equal: NULLs are, 0 and -0 are, and texts are as
// their collation says. The order of the bytes means nothing.
//
// Each part: 1 byte if it may be NULL (0: NULL, and nothing follows; 1), then 8 bytes of a number,
// 16 of a kWideDecimal, or the length (4 bytes) and the weights of a text.
// Thread safety: one thread at a time.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "plugin/program/batch.h"

namespace rowan {

class WeightTable;

class GroupKey {
 public:
  /// Of values of the plan.
  GroupKey(const BatchPlan& plan, const std::vector<ValueId>& values);
  ~GroupKey();
  GroupKey(const GroupKey&) = delete;
  GroupKey& operator=(const GroupKey&) = delete;

  /// Bytes of all keys, if they have the same; 0: they have not.
  [[nodiscard]] size_t fixed_bytes() const { return fixed_bytes_; }
  /// Reads the values; rows that go aside leave `*rows`.
  void Read(Batch* batch, Selection* rows);
  /// Appends the key of a row. REQUIRES: Read for it since the batch began.
  void Append(RowNumber row, std::vector<std::byte>* key) const;

 private:
  struct Part {
    ValueId value{};
    ValueType type{};
    const WeightTable* weights = nullptr;  ///< of kBytes; null: the bytes themselves count
    const ValueVector* values = nullptr;
  };

  std::vector<Part> parts_;
  size_t fixed_bytes_ = 0;
};

}  // namespace rowan
