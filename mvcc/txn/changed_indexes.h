// SPDX-License-Identifier: GPL-2.0-only
// ChangedIndexes: the indexes that a transaction has undo records of. It may keep some whose
// records were all rolled back to a savepoint.
// Thread safety: none.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"

namespace rowan {

class ChangedIndexes {
 public:
  /// kNoIndex is none. Cheap when neighbouring records belong to the same few indexes.
  void Note(IndexId index) {
    if (recent_[index.value() % kRecent] != index) Add(index);
  }
  /// Each once, ascending.
  [[nodiscard]] const std::vector<IndexId>& All();
  /// Keeps its memory for the next transaction.
  void Clear();

  /// All of them as varints, each the difference from the one before.
  [[nodiscard]] std::vector<std::byte> Encode();
  /// Adds what Encode made. False if the bytes cannot be that.
  [[nodiscard]] bool Decode(Bytes encoded);

 private:
  void Add(IndexId index);
  /// Removes duplicates.
  void Join();

  /// Room for a table with this many indexes, whose ids are mostly consecutive.
  static constexpr size_t kRecent = 8;
  static constexpr size_t kJoinAtFirst = 64;

  std::array<IndexId, kRecent> recent_{};  ///< by their last bits; kNoIndex: none
  std::vector<IndexId> ids_;
  size_t join_at_ = kJoinAtFirst;  ///< ids
};

}  // namespace rowan
