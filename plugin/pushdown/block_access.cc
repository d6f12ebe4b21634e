// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/pushdown/block_access.h"

#include <string>
#include <utility>

#include "sql/item.h"
#include "sql/join_optimizer/access_path.h"
#include "sql/join_optimizer/walk_access_paths.h"
#include "sql/range_optimizer/range_optimizer.h"
#include "sql/sql_class.h"
#include "sql/sql_lex.h"
#include "sql/sql_opt_exec_shared.h"
#include "sql/sql_optimizer.h"
#include "sql/table.h"

#include "plugin/handler/ha_rowan.h"
#include "plugin/handler/key_bounds.h"
#include "plugin/handler/key_read.h"
#include "plugin/pushdown/range_condition.h"
#include "plugin/server/system_variables.h"

namespace rowan {
namespace {

/// The ranges of one scan, and its index as the engine numbers it.
struct ScannedRanges {
  uint32_t index_number = 0;
  std::vector<RowPlan::Range> ranges;
  bool holds_between = false;  ///< as BlockPlan's
};

bool TakeIndex(const ha_rowan& file, uint key, ScannedRanges* scanned) {
  return file.pushed_idx_cond == nullptr &&
         IsSearchableKey(file.part().codec(), key, &scanned->index_number);
}

bool TakeRanges(const ha_rowan& file, const AccessPath& path, Item* condition,
                ScannedRanges* scanned) {
  const auto& scan = path.index_range_scan();
  if (scan.geometry || scan.need_rows_in_rowid_order || scan.reverse) return false;
  if (!TakeIndex(file, scan.index, scanned)) return false;
  const KEY& key = file.part().server_table()->key_info[scan.index];
  scanned->holds_between = HoldsBetween(condition, key, scan.ranges, scan.num_ranges);
  for (unsigned i = 0; i < scan.num_ranges; ++i) {
    QUICK_RANGE* const range = scan.ranges[i];
    key_range low;
    key_range high;
    range->make_min_endpoint(&low);
    range->make_max_endpoint(&high);
    const bool has_low = (range->flag & NO_MIN_RANGE) == 0 && low.keypart_map != 0;
    const bool has_high = (range->flag & NO_MAX_RANGE) == 0 && high.keypart_map != 0;
    if (!MakeRange(file.part(), scan.index, has_low ? &low : nullptr, has_high ? &high : nullptr,
                   &scanned->ranges.emplace_back())) {
      return false;
    }
  }
  return true;
}

/// Of keys that only the execution knows.
bool TakeLookUp(const ha_rowan& file, const Index_lookup& keys, ScannedRanges* scanned) {
  if (keys.key < 0 || keys.keypart_hash != nullptr) return false;
  // Without the condition that gives a key, another scan takes the look-up's place.
  for (uint part = 0; keys.cond_guards != nullptr && part < keys.key_parts; ++part) {
    if (keys.cond_guards[part] != nullptr) return false;
  }
  return TakeIndex(file, static_cast<uint>(keys.key), scanned);
}

bool TakeScan(const ha_rowan& file, const AccessPath& path, Item* condition,
              ScannedRanges* scanned) {
  switch (path.type) {
    case AccessPath::TABLE_SCAN: scanned->ranges.emplace_back(); return true;
    case AccessPath::INDEX_SCAN:
      scanned->ranges.emplace_back();
      return !path.index_scan().reverse &&
             TakeIndex(file, static_cast<uint>(path.index_scan().idx), scanned);
    case AccessPath::INDEX_RANGE_SCAN: return TakeRanges(file, path, condition, scanned);
    case AccessPath::REF: return !path.ref().reverse && TakeLookUp(file, *path.ref().ref, scanned);
    case AccessPath::REF_OR_NULL: return TakeLookUp(file, *path.ref_or_null().ref, scanned);
    default: return false;
  }
}

constexpr double kRowsInRangesMin = 200;

/// For fewer rows a plan of batches takes longer to make than it saves. Each range begins a batch
/// of its own, which saves nothing before its third row: many ranges of a row each are read faster
/// one by one, and their pages ahead.
bool HasEnoughRows(THD* thd, const AccessPath& scan) {
  const double rows = scan.num_output_rows();
  if (rows < 0) return true;              // not known
  constexpr double kFurtherRange = 0.06;  // of the limit: three rows of its default
  const bool has_ranges = scan.type == AccessPath::INDEX_RANGE_SCAN;
  const unsigned ranges = has_ranges ? scan.index_range_scan().num_ranges : 1;
  return rows >= PushdownRowsMin(thd) * (1 + kFurtherRange * (ranges - 1.0));
}

}  // namespace

bool LooksUpKeys(const AccessPath& scan) {
  return scan.type == AccessPath::REF || scan.type == AccessPath::REF_OR_NULL;
}

AccessPath* FilterOf(AccessPath* root, JOIN* join, const TABLE* table) {
  AccessPath* found = nullptr;
  int scans = 0;
  WalkAccessPaths(
      root, join, WalkAccessPathPolicy::ENTIRE_QUERY_BLOCK, [&](AccessPath* path, JOIN*) {
        if (GetBasicTable(path) == table) ++scans;
        const bool filters =
            path->type == AccessPath::FILTER && GetBasicTable(path->filter().child) == table;
        if (filters) found = path;
        return false;
      });
  return scans == 1 ? found : nullptr;
}

AccessPath* ScanUnder(AccessPath* path) {
  return path->type == AccessPath::FILTER ? path->filter().child : path;
}

bool ReadsManyRows(const AccessPath& scan) {
  const bool reads_ranges = scan.type == AccessPath::INDEX_RANGE_SCAN || LooksUpKeys(scan);
  return !reads_ranges || scan.num_output_rows() >= kRowsInRangesMin;
}

bool HasAllColumns(const ha_rowan& file, const BlockAccess& access) {
  const uint32_t index_number = access.plan.values->index_number();
  return index_number == 0 || IndexCoversRead(*file.part().server_table(),
                                              file.part().codec().KeyOfIndexNumber(index_number));
}

Counter ReadBlockAccess(THD* thd, ha_rowan* file, AccessPath* top, BlockAccess* access) {
  TABLE* const table = file->part().server_table();
  const bool has_filter = top->type == AccessPath::FILTER;
  access->top = top;
  access->scan = has_filter ? top->filter().child : top;
  if (has_filter && top->filter().materialize_subqueries) return Counter::kBlocksLeftByCondition;
  BlockPlan& plan = access->plan;
  if (has_filter) plan.condition = top->filter().condition;
  ScannedRanges scanned;
  // Generated columns are the server's to compute.
  if (table->vfield != nullptr || file->part().reader()->salvages() ||
      !HasEnoughRows(thd, *access->scan) ||
      !TakeScan(*file, *access->scan, plan.condition, &scanned)) {
    return Counter::kBlocksLeftByAccess;
  }
  plan.holds_between = scanned.holds_between;
  plan.ranges = std::move(scanned.ranges);
  plan.values =
      std::make_unique<BatchPlan>(table, file->part().codec().layout(), scanned.index_number);
  if (has_filter) {
    const char* reason = nullptr;
    plan.filter = FilterProgram::Compile(plan.condition, plan.values.get(), &reason);
    if (plan.filter == nullptr) return Counter::kBlocksLeftByCondition;
  }
  plan.helpers = ParallelWorkers(thd, access->scan->num_output_rows());
  return Counter::kCount;
}

void ReadInBatches(const BlockAccess& access, ha_rowan* file, std::unique_ptr<BlockRows> rows) {
  // The filter's place in the plan becomes the scan's: nothing else points there. A hash join above
  // makes as many files as its estimate of the rows says, which decides on the order of its rows.
  if (access.top != access.scan) {
    const double expected = access.top->num_output_rows();
    *access.top = *access.scan;
    access.top->set_num_output_rows(expected);
  }
  file->SetBlockRows(std::move(rows));
  AddCounter(Counter::kBlocksPushed);
}

}  // namespace rowan
