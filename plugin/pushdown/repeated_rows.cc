// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/pushdown/repeated_rows.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "sql/item_func.h"
#include "sql/item_sum.h"
#include "sql/join_optimizer/access_path.h"
#include "sql/join_optimizer/materialize_path_parameters.h"
#include "sql/join_optimizer/walk_access_paths.h"
#include "sql/sql_lex.h"
#include "sql/sql_optimizer.h"
#include "sql/table.h"

#include "plugin/blocks/distinct_rows.h"
#include "plugin/blocks/filtered_rows.h"
#include "plugin/handler/ha_rowan.h"
#include "plugin/pushdown/block_access.h"
#include "plugin/pushdown/conditions.h"
#include "plugin/pushdown/distinct_values.h"

namespace rowan {
namespace {

/// A step that takes equal rows together.
struct Step {
  AccessPath* rows = nullptr;  ///< what it reads: a scan, or its filter; null: there is none
  bool sorts = false;          ///< equal rows come to it, or from it, in any order
};

Step StepAt(const AccessPath& path) {
  switch (path.type) {
    case AccessPath::MATERIALIZE: {
      const MaterializePathParameters& made = *path.materialize().param;
      // The server may have made groups of DISTINCT.
      const bool takes_together = made.table->s->is_distinct || made.table->group != nullptr;
      const bool is_plain = made.m_operands.size() == 1 && made.cte == nullptr && takes_together;
      return {is_plain ? made.m_operands[0].subquery_path : nullptr, false};
    }
    case AccessPath::SORT:
      return {path.sort().remove_duplicates ? path.sort().child : nullptr, true};
    case AccessPath::AGGREGATE: {
      const AccessPath* const child = path.aggregate().child;
      return {child->type == AccessPath::SORT ? child->sort().child : nullptr, true};
    }
    default: return {};
  }
}

/// The step directly above the scan of the table.
Step FindStep(AccessPath* root, JOIN* join, const TABLE* table) {
  Step found;
  int scans = 0;
  WalkAccessPaths(root, join, WalkAccessPathPolicy::ENTIRE_QUERY_BLOCK,
                  [&](AccessPath* path, JOIN*) {
                    if (GetBasicTable(path) == table) ++scans;
                    const Step step = StepAt(*path);
                    if (step.rows != nullptr && GetBasicTable(ScanUnder(step.rows)) == table)
                      found = step;
                    return false;
                  });
  return scans == 1 ? found : Step();
}

/// An item of a list of groups that is the same for all rows of each group.
bool IsOfGroup(Item* item, const Fields& groups) {
  Item* const real = item->real_item();
  if (real->type() == Item::SUM_FUNC_ITEM || real->basic_const_item()) return true;
  if (Field* const field = FieldOf(real); field != nullptr) return Contains(groups, field);
  if (real->type() != Item::FUNC_ITEM) return false;
  const auto* const function = down_cast<Item_func*>(real);
  Item** const arguments = function->arguments();
  return std::all_of(arguments, arguments + function->argument_count(),
                     [&](Item* argument) { return IsOfGroup(argument, groups); });
}

/// What a step sees of a row.
class SeenValues {
 public:
  explicit SeenValues(BatchPlan* values) : values_(values) {}

  /// False: something else.
  bool AddShown(const JOIN& join);
  bool AddGroups(const JOIN& join);
  /// None that are shown are equal but not the same.
  [[nodiscard]] bool are_plain() const { return are_plain_; }
  [[nodiscard]] std::vector<ValueId> Take() { return std::move(ids_); }

 private:
  bool Add(Item* item);

  BatchPlan* const values_;
  std::vector<ValueId> ids_;
  bool are_plain_ = true;
};

bool SeenValues::Add(Item* item) {
  if (item->basic_const_item()) return true;
  const std::optional<ValueId> id = ReadRowValue(item, values_);
  if (!id.has_value()) return false;
  are_plain_ = are_plain_ && !HasEqualVariants(values_->TypeOf(*id));
  ids_.push_back(*id);
  return true;
}

bool SeenValues::AddShown(const JOIN& join) {
  const auto& shown = join.query_block->fields;
  return std::all_of(shown.begin(), shown.end(), [this](Item* item) { return Add(item); });
}

bool SeenValues::AddGroups(const JOIN& join) {
  Fields groups;
  for (const ORDER* group = join.query_block->group_list.first; group != nullptr;
       group = group->next) {
    Field* const field = FieldOf(*group->item);
    if (field == nullptr || !Add(*group->item)) return false;
    AddOnce(&groups, field);
  }
  const auto& shown = join.query_block->fields;
  if (!std::all_of(shown.begin(), shown.end(),
                   [&](Item* item) { return IsOfGroup(item, groups); })) {
    return false;
  }
  for (Item_sum** function = join.sum_funcs; *function != nullptr; ++function) {
    if (!AddSeenBy(*function, values_, &ids_)) return false;
  }
  return true;
}

bool MayRepeatRows(const JOIN& join) {
  const Query_block& block = *join.query_block;
  const bool is_grouped = block.is_explicitly_grouped();
  return (is_grouped || block.is_distinct()) && !block.is_implicitly_grouped() &&
         block.olap == UNSPECIFIED_OLAP_TYPE && !block.has_windows() && join.const_tables == 0 &&
         (is_grouped || block.having_cond() == nullptr);
}

}  // namespace

bool DropRepeatedRows(THD* thd, ha_rowan* file, AccessPath* root, JOIN* join) {
  if (!MayRepeatRows(*join)) return false;
  const Step step = FindStep(root, join, file->part().server_table());
  if (step.rows == nullptr || !ReadsManyRows(*ScanUnder(step.rows))) return false;
  BlockAccess access;
  if (ReadBlockAccess(thd, file, step.rows, &access) != Counter::kCount) return false;
  if (!HasAllColumns(*file, access)) return false;
  SeenValues seen(access.plan.values.get());
  const bool is_grouped = join->query_block->is_explicitly_grouped();
  if (!(is_grouped ? seen.AddGroups(*join) : seen.AddShown(*join))) return false;
  if (step.sorts && !seen.are_plain()) return false;
  auto distinct = std::make_unique<DistinctRows>(seen.Take());
  auto rows = std::make_unique<FilteredRows>(std::move(access.plan), std::move(distinct));
  ReadInBatches(access, file, std::move(rows));
  return true;
}

}  // namespace rowan
