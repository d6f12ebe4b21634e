// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/pushdown/sorted_scan.h"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "sql/filesort.h"
#include "sql/join_optimizer/access_path.h"
#include "sql/join_optimizer/walk_access_paths.h"
#include "sql/sql_optimizer.h"

#include "plugin/blocks/filtered_rows.h"
#include "plugin/blocks/first_of_order.h"
#include "plugin/handler/ha_rowan.h"
#include "plugin/pushdown/block_access.h"
#include "plugin/pushdown/sort_keys.h"

namespace rowan {
namespace {

/// The sort directly above the scan of the table, or above its filter; null: there is none, or the
/// table is read in several ways.
AccessPath* SortOf(AccessPath* root, JOIN* join, const TABLE* table) {
  AccessPath* found = nullptr;
  int scans = 0;
  WalkAccessPaths(
      root, join, WalkAccessPathPolicy::ENTIRE_QUERY_BLOCK, [&](AccessPath* path, JOIN*) {
        if (GetBasicTable(path) == table) ++scans;
        const bool sorts =
            path->type == AccessPath::SORT && GetBasicTable(ScanUnder(path->sort().child)) == table;
        if (sorts) found = path;
        return false;
      });
  return scans == 1 ? found : nullptr;
}

}  // namespace

bool PushFirstOfOrder(THD* thd, ha_rowan* file, AccessPath* root, JOIN* join) {
  if (!join->query_block->has_limit() || !join->query_block->is_ordered()) return false;
  AccessPath* const sort = SortOf(root, join, file->part().server_table());
  if (sort == nullptr || join->calc_found_rows) return false;
  if (sort->sort().filesort == nullptr || sort->sort().remove_duplicates) return false;
  const ha_rows limit = sort->sort().limit;
  if (limit == 0 || limit > FirstOfOrder::kCountMax ||
      !ReadsManyRows(*ScanUnder(sort->sort().child))) {
    return false;
  }
  BlockAccess access;
  if (ReadBlockAccess(thd, file, sort->sort().child, &access) != Counter::kCount) return false;
  if (!HasAllColumns(*file, access)) return false;
  const std::optional<std::vector<SortKey>> keys = ReadSortKeys(
      *sort->sort().filesort, access.plan.values.get(), [](Item* item) { return item; });
  if (!keys.has_value()) return false;
  auto first =
      std::make_unique<FirstOfOrder>(*access.plan.values, *keys, static_cast<uint32_t>(limit));
  auto rows = std::make_unique<FilteredRows>(std::move(access.plan), std::move(first));
  ReadInBatches(access, file, std::move(rows));
  return true;
}

}  // namespace rowan
