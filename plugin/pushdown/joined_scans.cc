// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/pushdown/joined_scans.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "sql/join_optimizer/access_path.h"
#include "sql/join_optimizer/walk_access_paths.h"
#include "sql/sql_lex.h"
#include "sql/sql_optimizer.h"
#include "sql/table.h"

#include "plugin/blocks/filtered_rows.h"
#include "plugin/handler/ha_rowan.h"
#include "plugin/pushdown/block_access.h"
#include "plugin/pushdown/star_join.h"
#include "plugin/pushdown/table_access.h"
#include "plugin/server/system_variables.h"

namespace rowan {
namespace {

/// Fewer rows are read in less time than a condition is compiled in.
constexpr double kRowsOfScanMin = 200;

/// The scan may be repeated for each row of another table.
bool IsRepeated(AccessPath* root, JOIN* join, const AccessPath* scan) {
  bool repeated = false;
  WalkAccessPaths(root, join, WalkAccessPathPolicy::ENTIRE_QUERY_BLOCK,
                  [&](AccessPath* path, JOIN* block) {
                    const bool loops = path->type == AccessPath::NESTED_LOOP_JOIN;
                    if (loops && IsUnder(path->nested_loop_join().inner, block, scan)) {
                      repeated = true;
                    }
                    return repeated;
                  });
  return repeated;
}

void PushScan(THD* thd, ha_rowan* file, AccessPath* root, JOIN* join) {
  const TABLE* const table = file->part().server_table();
  AccessPath* const filter = FilterOf(root, join, table);
  AccessPath* const top = filter != nullptr ? filter : FindAccess(root, join, table).path;
  if (top == nullptr) return;
  const AccessPath& scan = *ScanUnder(top);
  if (LooksUpKeys(scan) || scan.num_output_rows() < kRowsOfScanMin) return;
  BlockAccess access;
  if (ReadBlockAccess(thd, file, top, &access) != Counter::kCount) return;
  auto semi_joins = FindSemiJoins(thd, root, join, top, access.plan.values.get());
  if (filter == nullptr && semi_joins == nullptr) return;
  // Threads begin together at some cost.
  if (IsRepeated(root, join, &scan)) access.plan.helpers = 0;
  auto rows = std::make_unique<FilteredRows>(std::move(access.plan), std::move(semi_joins));
  ReadInBatches(access, file, std::move(rows));
}

}  // namespace

void PushJoinedScans(THD* thd, AccessPath* root, JOIN* join) {
  const Query_block& block = *join->query_block;
  if (block.leaf_table_count < 2 || !PushdownBlocks(thd)) return;
  std::vector<ha_rowan*> files;
  for (const Table_ref* leaf = block.leaf_tables; leaf != nullptr; leaf = leaf->next_leaf) {
    ha_rowan* const file = SnapshotReader(leaf->table);
    if (file != nullptr) files.push_back(file);
  }
  // A small table's condition is looked at before it goes from the plan.
  std::stable_sort(files.begin(), files.end(), [](const ha_rowan* one, const ha_rowan* other) {
    return one->stats.records > other->stats.records;
  });
  for (ha_rowan* file : files) PushScan(thd, file, root, join);
}

}  // namespace rowan
