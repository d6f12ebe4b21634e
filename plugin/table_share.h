// SPDX-License-Identifier: GPL-2.0-only
// TableShare: what all handlers of one server table share: the engine's table, the codec compiled
// from the table's definition, and how many rows have equal key parts. Lives as long as the
// server's TABLE_SHARE. Thread safety: constant after creation except the cardinalities, which
// readers and the refresher access under a mutex.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "sql/handler.h"

#include "engine/engine.h"
#include "plugin/table_codec.h"

namespace rowan {

class TableShare : public Handler_share {
 public:
  TableShare(std::shared_ptr<Table> table, std::unique_ptr<TableCodec> codec)
      : table_(std::move(table)), codec_(std::move(codec)) {}

  [[nodiscard]] Table* table() const { return table_.get(); }
  [[nodiscard]] const TableCodec& codec() const { return *codec_; }

  /// Samples every index when there are no cardinalities yet, `force` is set, or many rows changed
  /// since the last time.
  Status RefreshCardinality(Engine* engine, bool force);
  /// Rows per distinct value of the first `parts` parts of an index (at least 1).
  [[nodiscard]] std::vector<float> RowsPerKey(uint32_t ordinal) const;
  /// Grows by one each time the cardinalities change.
  [[nodiscard]] uint64_t cardinality_version() const {
    return version_.load(std::memory_order_acquire);
  }

 private:
  Result<std::vector<float>> SampleOneIndex(Engine* engine, uint32_t ordinal,
                                            uint32_t leaves) const;

  const std::shared_ptr<Table> table_;
  const std::unique_ptr<TableCodec> codec_;
  mutable std::mutex mutex_;
  std::vector<std::vector<float>> rows_per_key_;  // guarded by mutex_; [ordinal][parts - 1]
  std::atomic<uint64_t> version_{0};
  std::atomic<uint64_t> rows_at_refresh_{0};
  std::mutex refresh_mutex_;  ///< one sampler at a time
};

}  // namespace rowan
