// SPDX-License-Identifier: GPL-2.0-only
// ConflictSummary: what ConflictGraph keeps of committed writers when memory is short: three times
// for each transaction id, and if that is too much, one entry for a whole stretch of ids that is as
// dangerous as the worst of them. So no conflict is missed, but a transaction that did not see one
// of these may be rolled back needlessly.
// Thread safety: none; guarded by its owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "base/ids.h"
#include "mvcc/lock/serial_txn.h"

namespace rowan {

class ConflictSummary {
 public:
  /// As in SerialTxn.
  struct Writer {
    uint64_t prepare_time = SerialTxn::kNever;
    uint64_t earliest_out = SerialTxn::kNever;
    uint64_t commit_time = 0;
  };

  void Add(TxnId id, const Writer& writer) { writers_[id.value()] = writer; }
  /// Null: nothing is known of this id.
  [[nodiscard]] const Writer* Find(TxnId id) const;
  /// The older half of the ids goes into the stretch.
  void Fold();
  void Clear();
  [[nodiscard]] size_t memory_bytes() const { return writers_.size() * kWriterMemoryBytes; }

 private:
  /// A node of the map, with the allocator's share.
  static constexpr size_t kWriterMemoryBytes = sizeof(Writer) + 64;

  std::map<uint64_t, Writer> writers_;
  Writer stretch_;
  uint64_t stretch_first_ = UINT64_MAX;  ///< ids
  uint64_t stretch_last_ = 0;
};

}  // namespace rowan
