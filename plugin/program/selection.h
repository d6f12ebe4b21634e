// SPDX-License-Identifier: GPL-2.0-only
// The rows of one batch as the engine stores them, and which of them are still wanted.
// Thread safety: one thread at a time.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "base/bytes.h"

namespace rowan {

/// Few enough for the values of some columns to stay in the processor's caches, enough for what
/// is done once per batch not to count.
inline constexpr uint32_t kBatchRowsMax = 512;

using RowNumber = uint16_t;

/// Entries of one index: tree keys, and rows (without their header) or payloads. The bytes stay
/// where they are as long as the batch is used.
struct StoredRows {
  const Bytes* keys = nullptr;
  const Bytes* values = nullptr;
  uint32_t count = 0;  ///< at most kBatchRowsMax
};

/// A set of rows, a bit each.
class RowSet {
 public:
  void Clear() { words_ = {}; }
  void Add(RowNumber row) { words_[row / 64] |= uint64_t{1} << (row % 64); }
  void AddAll(const RowSet& other) {
    for (size_t i = 0; i < words_.size(); ++i) words_[i] |= other.words_[i];
  }
  [[nodiscard]] bool Has(RowNumber row) const { return (words_[row / 64] >> (row % 64) & 1) != 0; }
  [[nodiscard]] bool empty() const {
    uint64_t any = 0;
    for (const uint64_t word : words_) any |= word;
    return any == 0;
  }
  [[nodiscard]] uint32_t size() const {
    uint32_t count = 0;
    for (const uint64_t word : words_) count += static_cast<uint32_t>(std::popcount(word));
    return count;
  }
  /// In ascending order.
  template <typename Visit>
  void ForEach(Visit visit) const {
    for (size_t i = 0; i < words_.size(); ++i) {
      for (uint64_t word = words_[i]; word != 0; word &= word - 1) {
        visit(static_cast<RowNumber>(i * 64 + static_cast<size_t>(std::countr_zero(word))));
      }
    }
  }

 private:
  std::array<uint64_t, kBatchRowsMax / 64> words_{};
};

/// Numbers of rows, ascending.
class Selection {
 public:
  Selection() = default;
  Selection(const Selection& other) { *this = other; }
  Selection& operator=(const Selection& other) {
    count_ = other.count_;
    std::copy(other.begin(), other.end(), rows_.begin());
    return *this;
  }

  void SelectFirst(uint32_t count) {
    count_ = count;
    for (uint32_t i = 0; i < count; ++i) rows_[i] = static_cast<RowNumber>(i);
  }
  void SelectAll(const RowSet& rows) {
    count_ = 0;
    rows.ForEach([this](RowNumber row) { Append(row); });
  }
  void Clear() { count_ = 0; }
  /// REQUIRES: greater than the last one.
  void Append(RowNumber row) { rows_[count_++] = row; }
  /// Keeps the rows for which `keep` says so, without a branch on what it says.
  template <typename Keep>
  void Retain(Keep keep) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count_; ++i) {
      const RowNumber row = rows_[i];
      rows_[kept] = row;
      kept += static_cast<uint32_t>(static_cast<bool>(keep(row)));
    }
    count_ = kept;
  }
  void Remove(const RowSet& rows) {
    if (rows.empty()) return;
    Retain([&rows](RowNumber row) { return !rows.Has(row); });
  }
  [[nodiscard]] RowSet AsSet() const {
    RowSet set;
    for (const RowNumber row : *this) set.Add(row);
    return set;
  }

  [[nodiscard]] uint32_t size() const { return count_; }
  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] const RowNumber* begin() const { return rows_.data(); }
  [[nodiscard]] const RowNumber* end() const { return rows_.data() + count_; }

 private:
  uint32_t count_ = 0;
  std::array<RowNumber, kBatchRowsMax> rows_;  ///< only the first `count_` mean anything
};

}  // namespace rowan
