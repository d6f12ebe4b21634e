// SPDX-License-Identifier: GPL-2.0-only
// What a statement has found out about the rows of a table that it can need (plugin/pushdown/):
// only the first ones of each group.
#pragma once

#include <memory>
#include <string>

#include "engine/group_scan.h"
#include "my_inttypes.h"

namespace rowan {

struct GroupPlan {
  GroupWinners winners;
  /// Index scans that the server opens on this key are the ones that deliver only those rows.
  uint access_key = 0;
  /// The key that has the groups together; its first parts are those by which the server searches
  /// `access_key`.
  uint group_key = 0;
  bool is_covering = false;  ///< its entries have all columns that the statement reads
  std::string description;   ///< for EXPLAIN
  /// The scan that was closed last, for the next one: a subquery opens one for each outer row. Used
  /// by the statement's thread alone.
  mutable std::unique_ptr<GroupScan> closed_scan;
};

}  // namespace rowan
