// SPDX-License-Identifier: GPL-2.0-only
// What the server's conditions (Items) say about columns: conjuncts, equalities, upper limits.
// Nothing is changed, and only constants are evaluated. What is not understood is reported as such,
// so that a recogniser leaves the query alone.
// Thread safety: only the thread that optimises the statement.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

class Field;
class Item;
struct TABLE;

namespace rowan {

using Fields = std::vector<Field*>;

/// The parts of a condition that must all hold; a null condition has none.
std::vector<Item*> Conjuncts(Item* condition);

/// The column that an item stands for, through views and references; null: it is something else.
Field* FieldOf(Item* item);
/// The same if the column is one of `table`.
Field* FieldOf(Item* item, const TABLE* table);

bool Contains(const Fields& fields, const Field* field);
void AddOnce(Fields* fields, Field* field);

/// The item depends on no other column of `table`, gives the same result whenever it is evaluated,
/// and runs no subquery and no stored program.
bool DependsOnlyOn(Item* item, const TABLE* table, const Fields& fields);

/// The conjunct is true for all rows of `table` that are equal in the columns `groups`, or for none
/// of them. Equal means equal to an index on the columns: 'a' and 'A' may be.
bool HoldsForWholeGroups(Item* conjunct, const TABLE* table, const Fields& groups);

/// A column of `table` that the conjunct makes equal to something that does not depend on the row
/// of `table`, which `*other` gets if `other` is not null. Null: it is another kind of condition.
Field* BoundField(Item* conjunct, const TABLE* table, Item** other);

/// "=" and "<" between the two columns agree with an index on either of them.
bool CompareAlike(const Field* left, const Field* right);

/// A server sort puts the column's values in index order.
bool SortsAsIndexed(const Field* field);

/// Two columns, one of each table, that the conjunct makes equal. Values of both compare by the
/// same rules, and NULL equals nothing.
struct EqualColumns {
  Field* left = nullptr;
  Field* right = nullptr;
};
std::optional<EqualColumns> EqualColumnsOf(Item* conjunct, const TABLE* left, const TABLE* right);

/// Likewise, two columns of which the conjunct makes one the greater.
struct GreaterColumns : EqualColumns {
  bool left_is_greater = false;
};
std::optional<GreaterColumns> GreaterColumnsOf(Item* conjunct, const TABLE* left,
                                               const TABLE* right);

/// The greatest whole number with which the conjunct may be true for an item that `is_counted`
/// accepts: "rank <= 3", "3 >= rank", "rank = 1", "rank BETWEEN 1 AND 3".
std::optional<uint64_t> UpperLimit(Item* conjunct, const std::function<bool(Item*)>& is_counted);

}  // namespace rowan
