// SPDX-License-Identifier: GPL-2.0-only
// A recogniser (ranked_rows.h and its neighbours) has found that only the first rows of each group
// of a table can matter to the query. This finds a key in which groups are adjacent, with their
// rows in that order, and makes the plan's scan of the table deliver only those rows
// (handler/group_reader.h). Everything else in the plan stays: filters, sorts and ranks get fewer
// rows.
//
// The plan's access must ask for whole groups only:
//   table scan          becomes a scan of the key
//   index scan          becomes a scan of the key; where its order is used and is not the key's, a
//                       sort of those rows comes above it (index_order.h)
//   index look-up (ref), index range scan
//                       by columns that are leading parts of the key and belong to the groups; may
//                       use another key that begins with them, too
// With any other access the query is left alone.
// Thread safety: only the thread that optimises the statement.
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
  /// The rows wanted come first in it. Others may follow them.
  std::vector<OrderColumn> order;
  GroupWinners::Count count = GroupWinners::Count::kRows;
  uint64_t most = 1;
  bool passes_nulls = false;  ///< see GroupWinners
  /// Rows equal to one of those in the whole order are wanted as well.
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
