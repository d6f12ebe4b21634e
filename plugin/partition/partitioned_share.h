// SPDX-License-Identifier: GPL-2.0-only
// PartitionedShare: what all handlers of one partitioned table share: the server's part of it
// (names and the AUTO_INCREMENT counter) and the TableShare of each partition. Lives as long as the
// server's TABLE_SHARE. Thread safety: constant after opening, except for the counter, which has
// the server's mutex.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "sql/partitioning/partition_handler.h"

#include "plugin/handler/table_share.h"

namespace rowan {

class PartitionedShare : public Partition_share {
 public:
  /// In the order of the partitions' numbers.
  explicit PartitionedShare(std::vector<std::unique_ptr<TableShare>> parts)
      : parts_(std::move(parts)) {
    for (const auto& part : parts_) {
      if (!part->counted()) uncounted_ = part.get();
    }
  }

  [[nodiscard]] size_t count() const { return parts_.size(); }
  [[nodiscard]] TableShare* part(size_t number) const { return parts_[number].get(); }
  [[nodiscard]] Table* table(size_t number) const { return parts_[number]->table(); }
  /// A partition whose AUTO_INCREMENT counter is unknown, or null: until it is known, a generated
  /// value could already exist there.
  [[nodiscard]] const TableShare* uncounted() const { return uncounted_; }
  /// The next value according to the partitions: above the largest that is or was in any of them
  /// except uncounted ones.
  [[nodiscard]] uint64_t AutoIncrement() const {
    uint64_t next = 1;
    for (const auto& part : parts_) next = std::max(next, part->table()->auto_increment());
    return next;
  }

 private:
  const std::vector<std::unique_ptr<TableShare>> parts_;
  const TableShare* uncounted_ = nullptr;
};

}  // namespace rowan
