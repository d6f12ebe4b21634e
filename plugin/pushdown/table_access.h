// SPDX-License-Identifier: GPL-2.0-only
// How the plan of a query block reads one of its tables.
// Thread safety: only the thread that optimises the statement.
#pragma once

#include <cstdint>

class Field;
class Item;
struct AccessPath;
struct TABLE;
class JOIN;

namespace rowan {

struct TableAccess {
  AccessPath* path = nullptr;  ///< null: the plan does not read the table, or in several ways
  JOIN* join = nullptr;
  /// Nothing above uses the order in which the rows come.
  bool order_is_free = false;
  /// An index scan used for its order, where sorting its rows would do as well.
  bool is_sortable = false;
  /// How many rows of the block are needed; UINT64_MAX: all.
  uint64_t limit = UINT64_MAX;
};

/// `wanted` is `root` or, within the query block, below it.
bool IsUnder(AccessPath* root, JOIN* join, const AccessPath* wanted);

/// The column of `table` that an item of the planned block stands for, even where the plan has made
/// it a column of a temporary table between its steps. Null: it is something else.
Field* SourceField(AccessPath* root, JOIN* join, Item* item, const TABLE* table);

class ha_rowan;
/// The table's handler, if it is Rowan's, not partitioned or temporary, read from a snapshot
/// without locks, and has no other plan than the server's. Null: it is not.
ha_rowan* SnapshotReader(const TABLE* table);
/// The same of the block's only table. Null also if there are more.
ha_rowan* OnlyTableOf(const JOIN& join);
/// The same where the table may have partitions, which all store rows alike.
ha_rowan* OnlyTableOrPartsOf(const JOIN& join);

TableAccess FindAccess(AccessPath* root, JOIN* join, const TABLE* table);

}  // namespace rowan
