// SPDX-License-Identifier: GPL-2.0-only
// Cardinalities: how many rows of a table share the same leading parts of each index, how large the
// indexes are, and the table's settings for counting them. Published by the thread that counted
// (engine/statistics/statistics.h), read by any thread. The engine sees keys as bytes: KeyParts
// tells it where parts end. Thread safety: all members.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/bytes.h"
#include "base/mutex.h"
#include "btree/tree.h"

namespace rowan {

class KeyParts {
 public:
  virtual ~KeyParts() = default;
  /// Index parts, then the clustered key parts after them.
  [[nodiscard]] virtual uint32_t PartCount(uint32_t index_number) const = 0;
  /// How many leading parts two keys of an index share.
  [[nodiscard]] virtual uint32_t EqualParts(uint32_t index_number, Bytes left,
                                            Bytes right) const = 0;
  /// Where leading parts of a key end (engine/group_scan.h).
  struct GroupKey {
    size_t group_bytes = 0;      ///< of the group parts
    size_t ordered_bytes = 0;    ///< of these and the order parts
    bool order_is_null = false;  ///< the first order part
  };
  struct GroupParts {
    uint32_t group = 0;
    uint32_t order = 0;
  };
  [[nodiscard]] virtual GroupKey SplitKey(uint32_t index_number, Bytes key,
                                          GroupParts parts) const = 0;
};

class Cardinalities {
 public:
  using RowsPerKey = std::vector<std::vector<float>>;  ///< [index number][parts - 1], at least 1
  static constexpr uint32_t kLeavesSampled = 20;

  struct Settings {
    uint32_t sample_leaves = kLeavesSampled;  ///< of a large index
    bool chosen = false;     ///< the table asks for this number: ANALYZE takes it, too
    bool automatic = true;   ///< counted again in the background as rows change
    bool persistent = true;  ///< kept across restarts
  };

  /// Called by the opener of the table, which knows its columns.
  void Describe(std::shared_ptr<const KeyParts> parts, const Settings& settings);
  /// Null until described: then nothing can be counted.
  [[nodiscard]] std::shared_ptr<const KeyParts> parts() const;
  [[nodiscard]] Settings settings() const;

  /// `rows`: of the table, when it was counted.
  void Publish(RowsPerKey rows_per_key, uint64_t rows);
  [[nodiscard]] std::vector<float> Of(uint32_t index_number) const;
  [[nodiscard]] RowsPerKey All() const;
  /// Sizes by index number, when they were counted; they need no KeyParts.
  void PublishTrees(std::vector<TreeStatistics> trees);
  /// Empty: not counted yet.
  [[nodiscard]] std::vector<TreeStatistics> Trees() const;
  /// Grows by one each time they are published; 0 = never.
  [[nodiscard]] uint64_t version() const { return version_.load(std::memory_order_acquire); }
  /// True when there are none, or the table has more than twice or less than half the rows it had
  /// when they were counted. Then the background counts, so for a table that does not want that it
  /// is false, once there are some. Cheap.
  [[nodiscard]] bool Outdated(uint64_t rows_now) const;
  [[nodiscard]] std::chrono::steady_clock::time_point counted_at() const;
  /// Counting failed: do not retry at once.
  void NoteFailure();
  [[nodiscard]] bool failed() const;

  /// Held by the thread that counts.
  [[nodiscard]] Mutex* counting_mutex() ROWAN_RETURN_CAPABILITY(counting_mutex_) {
    return &counting_mutex_;
  }

 private:
  mutable Mutex mutex_{LatchRank::kCardinalities};
  std::shared_ptr<const KeyParts> parts_ ROWAN_GUARDED_BY(mutex_);
  Settings settings_ ROWAN_GUARDED_BY(mutex_);
  RowsPerKey rows_per_key_ ROWAN_GUARDED_BY(mutex_);
  std::vector<TreeStatistics> trees_ ROWAN_GUARDED_BY(mutex_);
  std::chrono::steady_clock::time_point counted_at_ ROWAN_GUARDED_BY(mutex_){};  // or tried
  bool failed_ ROWAN_GUARDED_BY(mutex_) = false;                                 // the last time
  std::atomic<uint64_t> rows_{0};      ///< written before version_ under mutex_
  std::atomic<bool> automatic_{true};  ///< as in settings_
  std::atomic<uint64_t> version_{0};   ///< published under mutex_, read by any thread
  Mutex counting_mutex_{LatchRank::kStatistics};
};

}  // namespace rowan
