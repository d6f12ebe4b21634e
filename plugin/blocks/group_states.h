// SPDX-License-Identifier: GPL-2.0-only
// GroupStates: rows of batches brought together by group, and what the aggregates have of each
// group so far. Rows are of one group if the stored values of the key columns are the same bytes:
// often a finer division than the statement's, whose equality has collations. So a group here is a
// part of one of the statement's, and so it is if it is taken away before all rows have come.
// Thread safety: one thread.
#pragma once

#include <array>
#include <cstring>
#include <span>
#include <vector>

#include "plugin/blocks/group_table.h"
#include "plugin/blocks/row_copies.h"
#include "plugin/blocks/stored_key.h"
#include "plugin/program/batch.h"

namespace rowan {

struct Aggregate {
  enum class Kind : uint8_t {
    kCountRows,
    kCount,  ///< of values that are not NULL
    kSum,    ///< and their number
    kMin,
    kMax,
    kBitAnd,  ///< of integers
    kBitOr,
    kBitXor,
  };
  Kind kind = Kind::kCountRows;
  ValueId value{};  ///< not for kCountRows
};

struct AggregateState {
  /// The sum, times 10^scale, or as a double; bits; the least or greatest value but a text.
  Wide number = 0;
  uint64_t count = 0;  ///< rows, or values that are not NULL
  RowCopy extreme;     ///< the first row with the least or greatest value
  Bytes text;          ///< see GroupStates::changed_
  RowNumber row = 0;
  bool changed = false;

  /// The sum of doubles, which were added in the order of the rows, from the first one on.
  [[nodiscard]] double real() const {
    double sum = 0;
    std::memcpy(&sum, &number, sizeof(sum));
    return sum;
  }
};

class GroupStates {
 public:
  /// Without keys there is at most one group.
  GroupStates(std::vector<ValueId> keys, std::vector<Aggregate> aggregates)
      : keys_(std::move(keys)), aggregates_(std::move(aggregates)) {}

  /// Reads all values that Add needs; takes from `*rows` those that it puts aside.
  void Read(Batch* batch, Selection* rows);
  /// Of the batch read last.
  void Add(const Batch& batch, std::span<const RowNumber> rows);

  /// Groups, in the order of their first rows.
  [[nodiscard]] uint32_t size() const { return static_cast<uint32_t>(firsts_.size()); }
  /// So large that its groups should be taken away.
  [[nodiscard]] bool is_full() const;
  void Clear();

  /// Rows that were kept.
  [[nodiscard]] const RowCopies& copies() const { return copies_; }
  [[nodiscard]] const RowCopy& FirstOf(uint32_t group) const { return firsts_[group]; }
  [[nodiscard]] const AggregateState& StateOf(uint32_t group, size_t aggregate) const {
    return states_[group * aggregates_.size() + aggregate];
  }

 private:
  void AssignGroups(const Batch& batch, std::span<const RowNumber> rows);
  uint32_t GroupOf(const Batch& batch, RowNumber row);
  void StartGroup(const Batch& batch, RowNumber row);
  void AddTo(size_t aggregate, ValueKind kind, std::span<const RowNumber> rows);
  void CountRows(size_t aggregate, std::span<const RowNumber> rows);
  void CountValues(size_t aggregate, std::span<const RowNumber> rows);
  template <typename T>
  void AddSum(size_t aggregate, std::span<const RowNumber> rows);
  void AddReals(size_t aggregate, std::span<const RowNumber> rows);
  template <typename T>
  void AddExtreme(size_t aggregate, std::span<const RowNumber> rows);
  void AddBits(size_t aggregate, std::span<const RowNumber> rows);
  void AddExtremeText(size_t aggregate, const CHARSET_INFO* charset,
                      std::span<const RowNumber> rows);
  void Change(AggregateState* state, RowNumber row);
  void KeepExtremes(const StoredRows& stored);
  [[nodiscard]] AggregateState& StateAt(size_t position, size_t aggregate) {
    return states_[groups_of_[position] * aggregates_.size() + aggregate];
  }

  StoredKey keys_;
  const std::vector<Aggregate> aggregates_;
  std::vector<const ValueVector*> aggregate_values_;  ///< of the batch; null for kCountRows
  std::array<uint32_t, kBatchRowsMax> groups_of_{};   ///< by position among the rows being added
  GroupTable table_;
  RowCopies copies_;
  std::vector<RowCopy> firsts_;  ///< by group
  std::vector<AggregateState> states_;
  /// Those whose extreme is a row of the batch, whose value, if it is text, is in AggregateState's
  /// `text`; at the end of Add it is copied, with the value as RowCopy's extra bytes.
  std::vector<size_t> changed_;
  ByteBuffer key_;
  ByteBuffer last_key_;
  uint32_t last_group_ = 0;
  bool has_large_sum_ = false;
};

}  // namespace rowan
