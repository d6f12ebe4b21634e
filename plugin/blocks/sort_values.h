// SPDX-License-Identifier: GPL-2.0-only
// SortValues: the values by which a sort of the server orders rows, of the rows of a batch and of
// those kept beyond it, in numbered slots. The order is the server's: NULL is less than any value,
// numbers are in their own order, texts in that of their collation.
//
// A value is held as a number, the greater the later it comes: inverted if the order is descending.
// Texts are compared where the numbers are equal; of a text that is kept, the number is that of its
// first characters if there is one (TextCompare::PrefixOf).
// Thread safety: one thread.
#pragma once

#include <optional>
#include <vector>

#include "plugin/blocks/row_copies.h"
#include "plugin/program/batch.h"
#include "plugin/program/text_compare.h"

class Item;

namespace rowan {

struct SortKey {
  ValueId value{};
  bool descending = false;
  Item* item = nullptr;  ///< a column that has the value, for rows in the record; null: none
};

class SortValues {
 public:
  /// Texts are of collations with AsciiRules that have an order.
  SortValues(const BatchPlan& plan, const std::vector<SortKey>& keys);

  /// Reads the values; rows that go aside leave `*rows`.
  void Read(Batch* batch, Selection* rows);
  /// Keeps the values of a row of the batch read last in a slot: one that exists, or the next one.
  void Keep(RowNumber row, uint32_t slot);
  /// The same of the row in the record. REQUIRES: all keys have items. False: the session has an
  /// error.
  [[nodiscard]] bool KeepOfRecord(uint32_t slot);
  void Clear();

  /// Less than 0: the first one comes before the other one.
  [[nodiscard]] int Compare(RowNumber row, uint32_t slot) const;
  [[nodiscard]] int CompareKept(uint32_t slot, uint32_t other) const;
  /// Takes rows that are not before the one in the slot, and maybe not all of them.
  void RetainBefore(uint32_t slot, Selection* rows) const;
  /// Memory.
  [[nodiscard]] size_t bytes() const { return kept_.size() * sizeof(Kept) + texts_.bytes(); }

 private:
  struct Part {
    ValueId value{};
    ValueType type{};
    bool descending = false;
    std::optional<TextCompare> text{};
    std::optional<Constant> in_record{};
    const ValueVector* values = nullptr;  ///< of the batch
  };
  struct Kept {
    Wide number = 0;
    RowCopy text;            ///< only its "key" is used
    bool is_prefix = false;  ///< the number is that of a text's first characters
  };

  Kept* KeptAt(uint32_t slot);
  void Put(const Part& part, Wide number, Bytes text, Kept* kept);
  /// 0 for a text.
  static Wide NumberOf(const Part& part, RowNumber row);
  [[nodiscard]] int CompareKeptTexts(const Part& part, const Kept& left, const Kept& right) const;
  [[nodiscard]] int CompareTexts(const Part& part, Bytes text, const Kept& kept) const;
  template <typename T>
  void RetainNumbers(const Part& part, Wide bound, Selection* rows) const;

  std::vector<Part> parts_;
  std::vector<Kept> kept_;  ///< by slot and part
  RowCopies texts_;
};

}  // namespace rowan
