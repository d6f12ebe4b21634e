// SPDX-License-Identifier: GPL-2.0-only
// A subquery on one table, as far as it can be recognised before or after it is planned: when the
// hook is called for a block, one optimizer has not planned the subqueries yet and the other has.
// Thread safety: only the thread that optimises the statement.
#pragma once

#include <optional>
#include <vector>

#include "plugin/pushdown/conditions.h"

class Item_subselect;
class Query_block;

namespace rowan {

/// MAX or MIN of a column.
struct Extreme {
  Field* field = nullptr;
  bool greatest = false;
};

/// Null: the item is something else, or of another table.
std::optional<Extreme> ExtremeOf(Item* item, const TABLE* table);

/// `table` is one of the block's own, and no outer, semi- or anti-join adds rows to it or hides
/// any: a conjunct of the block's WHERE decides for each of its rows whether it can matter.
bool IsPlainlyJoined(const TABLE* table, const Query_block* block);

class SubqueryBlock {
 public:
  /// nullopt if the subquery reads anything but `same_as` once more, from a snapshot, or has UNION,
  /// windows, ROLLUP, or a LIMIT other than 1.
  static std::optional<SubqueryBlock> Of(Item_subselect* subquery, const TABLE* same_as);

  [[nodiscard]] Query_block* block() const { return block_; }
  [[nodiscard]] TABLE* table() const { return table_; }
  /// It has LIMIT 1.
  [[nodiscard]] bool wants_one_row() const;
  /// Conjuncts of its WHERE, without those that turn IN into EXISTS.
  [[nodiscard]] std::vector<Item*> conditions() const;
  /// The columns of GROUP BY; nullopt: it contains something else.
  [[nodiscard]] std::optional<Fields> groups() const;
  /// The column of the table that an item stands for; null: it is something else.
  [[nodiscard]] Field* ColumnOf(Item* item) const;

 private:
  SubqueryBlock(Query_block* block, TABLE* table) : block_(block), table_(table) {}

  Query_block* block_;
  TABLE* table_;
};

}  // namespace rowan
