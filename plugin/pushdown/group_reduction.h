// SPDX-License-Identifier: GPL-2.0-only
// What a recogniser (ranked_rows.h and its neighbours) has found out: of a table only the first
// rows of each group can matter to the query. Here a key is looked for in which groups are adjacent
// with their rows in that order, and the plan's scan of the table is made one that delivers only
// those rows (handler/group_plan.h). Everything else in the plan stays: what was to filter, sort or
// rank the rows does it to fewer of them.
//
// The plan's access must ask for whole groups only:
//   table scan          becomes a scan of the key
//   index scan          becomes a scan of the key; where its order is used and is not the key's, a
//                       sort of those rows comes above it (index_order.h)
//   index look-up (ref), index range scan
//                       by columns that are leading parts of the key and belong to the groups; may
//                       be of another key that begins with them, too
// Any other access is left alone, and so is the query then.
// Thread safety: one thread, the one that optimises the statement.
#pragma once

#include <optional>
#include <vector>

#include "engine/group_scan.h"
#include "plugin/pushdown/conditions.h"
#include "plugin/pushdown/table_access.h"

namespace rowan {

struct OrderColumn {
  Field* field = nullptr;
  bool descending = false;
};

struct GroupWish {
  TABLE* table = nullptr;
  Fields groups;  ///< in any order; none: the whole table is one group
  /// The rows wanted are the first ones in it. Others may come as well, but only after them.
  std::vector<OrderColumn> order;
  GroupWinners::Count count = GroupWinners::Count::kRows;
  uint64_t most = 1;
  bool passes_nulls = false;  ///< see GroupWinners
  /// All rows equal to one of those in the whole order are wanted as well.
  bool takes_ties = false;
};

/// A Rowan table, not partitioned or temporary, that the statement reads from a snapshot.
bool IsReducible(const TABLE* table);

/// A key in which the requested groups are adjacent, in the requested order.
struct KeyChoice {
  uint key = 0;
  uint group_parts = 0;
  bool from_end = false;  ///< the first row of a group in the order is the last one in the key
};
std::optional<KeyChoice> FindKey(const GroupWish& wish);

/// Makes the scan deliver only the requested rows. False: nothing was changed.
bool Reduce(const TableAccess& access, const GroupWish& wish);

}  // namespace rowan
