// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/pushdown/star_join.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sql/field.h"
#include "sql/item.h"
#include "sql/item_cmpfunc.h"
#include "sql/join_optimizer/access_path.h"
#include "sql/join_optimizer/relational_expression.h"
#include "sql/join_optimizer/walk_access_paths.h"
#include "sql/sql_class.h"
#include "sql/sql_lex.h"
#include "sql/sql_opt_exec_shared.h"
#include "sql/sql_optimizer.h"
#include "sql/table.h"

#include "plugin/blocks/semi_joins.h"
#include "plugin/handler/ha_rowan.h"
#include "plugin/pushdown/block_access.h"
#include "plugin/pushdown/conditions.h"
#include "plugin/pushdown/table_access.h"

namespace rowan {
namespace {

/// Reading a dimension's row costs about as much as the server's look-up of one.
constexpr double kRowsOfScanByDimension = 4;

/// A column of the scan, or another one before it, and the dimension's that it has to be equal to.
struct Equality {
  Field* outer = nullptr;
  Field* inner = nullptr;
};

/// What stands between a scan and the rows of the block.
struct JoinStep {
  AccessPath* joined = nullptr;  ///< a scan or look-up of the dimension, maybe under its filter
  std::vector<Equality> equalities;
};

/// "=" compares the bytes of both, which are of one form.
bool HaveOneForm(const Field* one, const Field* other) {
  return CompareAlike(one, other) && one->pack_length() == other->pack_length();
}

/// False: the look-up may have something to say.
bool ReadLookUp(const Index_lookup& lookup, const TABLE* table, JoinStep* step) {
  if (lookup.keypart_hash != nullptr || lookup.cond_guards == nullptr) return false;
  if (lookup.has_guarded_conds()) return false;
  const KEY& key = table->key_info[lookup.key];
  for (uint i = 0; i < lookup.key_parts; ++i) {
    Field* const inner = key.key_part[i].field;
    Field* const outer = FieldOf(lookup.items[i]);
    if (outer == nullptr && lookup.items[i]->const_item()) continue;
    if (outer == nullptr || outer->table == table || !HaveOneForm(outer, inner)) return false;
    // <=> finds NULL.
    const bool rejects_nulls = (lookup.null_rejecting & (key_part_map{1} << i)) != 0;
    if (outer->is_nullable() && inner->is_nullable() && !rejects_nulls) return false;
    step->equalities.push_back({outer, inner});
  }
  return !step->equalities.empty();
}

bool ReadNestedLoop(AccessPath* path, const AccessPath* below, JoinStep* step) {
  const auto& loop = path->nested_loop_join();
  if (loop.join_type != JoinType::INNER || loop.outer != below) return false;
  step->joined = loop.inner;
  const AccessPath* const scan = ScanUnder(loop.inner);
  if (scan->type == AccessPath::EQ_REF) {
    return ReadLookUp(*scan->eq_ref().ref, scan->eq_ref().table, step);
  }
  return scan->type == AccessPath::REF && ReadLookUp(*scan->ref().ref, scan->ref().table, step);
}

bool IsInner(const RelationalExpression& expression) {
  return expression.type == RelationalExpression::INNER_JOIN ||
         expression.type == RelationalExpression::STRAIGHT_INNER_JOIN;
}

bool ReadHashJoin(AccessPath* path, const AccessPath* below, JoinStep* step) {
  const auto& hash = path->hash_join();
  const RelationalExpression& expression = *hash.join_predicate->expr;
  if (hash.outer != below || hash.rewrite_semi_to_inner || !IsInner(expression)) return false;
  if (!expression.join_conditions.empty()) return false;
  const TABLE* const table = GetBasicTable(ScanUnder(hash.inner));
  if (table == nullptr) return false;
  step->joined = hash.inner;
  for (Item_eq_base* equality : expression.equijoin_conditions) {
    if (equality->functype() != Item_func::EQ_FUNC) return false;
    Field* outer = FieldOf(equality->arguments()[0]);
    Field* inner = FieldOf(equality->arguments()[1]);
    if (outer == nullptr || inner == nullptr) return false;
    if (outer->table == table) std::swap(outer, inner);
    if (inner->table != table || outer->table == table || !HaveOneForm(outer, inner)) return false;
    step->equalities.push_back({outer, inner});
  }
  return true;
}

/// False: rows that go above it are not just joined with a dimension's.
bool ReadStep(AccessPath* path, const AccessPath* below, JoinStep* step) {
  switch (path->type) {
    case AccessPath::NESTED_LOOP_JOIN: return ReadNestedLoop(path, below, step);
    case AccessPath::HASH_JOIN: return ReadHashJoin(path, below, step);
    default: return false;
  }
}

/// What is above `wanted`, the next one first.
std::vector<AccessPath*> PathsAbove(AccessPath* root, JOIN* join, const AccessPath* wanted) {
  std::vector<AccessPath*> above;
  WalkAccessPaths(root, join, WalkAccessPathPolicy::ENTIRE_QUERY_BLOCK,
                  [&](AccessPath* path, JOIN* block) {
                    if (path == wanted || !IsUnder(path, block, wanted)) return true;
                    above.push_back(path);
                    return false;
                  });
  std::reverse(above.begin(), above.end());
  return above;
}

/// Builds the filter of one scan.
class StarRecogniser {
 public:
  StarRecogniser(const TABLE* table, double rows, BatchPlan* values)
      : table_(table), rows_(rows), values_(values) {}

  /// False: nothing above the step may be used.
  bool Take(const JoinStep& step);
  std::unique_ptr<RowReduction> Make();

 private:
  bool TakeDimension(ha_rowan* file, Item* condition, const Equality& equality);

  const TABLE* const table_;
  const double rows_;
  BatchPlan* const values_;
  std::vector<SemiJoins::Join> joins_;
  std::string names_;
};

bool StarRecogniser::Take(const JoinStep& step) {
  const bool is_filtered = step.joined->type == AccessPath::FILTER;
  if (is_filtered && step.joined->filter().materialize_subqueries) return false;
  ha_rowan* const file = SnapshotReader(GetBasicTable(ScanUnder(step.joined)));
  // What an index is asked to check may have something to say, too.
  if (file == nullptr || file->pushed_idx_cond != nullptr) return false;
  if (!is_filtered) return true;
  for (const Equality& equality : step.equalities) {
    if (equality.outer->table != table_) continue;
    return TakeDimension(file, step.joined->filter().condition, equality);
  }
  return false;
}

bool StarRecogniser::TakeDimension(ha_rowan* file, Item* condition, const Equality& equality) {
  TABLE* const table = file->part().server_table();
  if (table->vfield != nullptr || file->part().reader()->salvages()) return false;
  if (static_cast<double>(file->stats.records) * kRowsOfScanByDimension > rows_) return false;
  BlockPlan plan;
  plan.ranges.emplace_back();
  plan.values = std::make_unique<BatchPlan>(table, file->part().codec().layout(), 0);
  const char* reason = nullptr;
  plan.condition = condition;
  plan.filter = FilterProgram::Compile(condition, plan.values.get(), &reason);
  if (plan.filter == nullptr) return false;
  const std::optional<ValueId> key = plan.values->AddColumn(equality.inner, &reason);
  if (!key.has_value() || !IsKeyOfSet(plan.values->TypeOf(*key))) return false;
  const std::optional<ValueId> value = values_->AddColumn(equality.outer, &reason);
  if (!value.has_value() || values_->TypeOf(*value).kind != plan.values->TypeOf(*key).kind) {
    return false;
  }
  names_ += (names_.empty() ? "" : ", ") + std::string(equality.outer->field_name) + " of " +
            table->alias;
  joins_.push_back({*value, std::make_unique<Dimension>(&file->part(), std::move(plan), *key)});
  return true;
}

std::unique_ptr<RowReduction> StarRecogniser::Make() {
  if (joins_.empty()) return nullptr;
  return std::make_unique<SemiJoins>(std::move(joins_), ", semi-join filter on " + names_);
}

/// All rows of the scan are wanted.
bool ReadsAllRows(const THD& thd, const Query_block& block) {
  const bool may_end_early = block.has_limit() && !block.is_ordered() &&
                             !block.is_explicitly_grouped() && !block.is_implicitly_grouped();
  return !may_end_early && !thd.lex->uses_stored_routines();
}

}  // namespace

std::unique_ptr<RowReduction> FindSemiJoins(THD* thd, AccessPath* root, JOIN* join, AccessPath* top,
                                            BatchPlan* values) {
  if (!ReadsAllRows(*thd, *join->query_block)) return nullptr;
  const AccessPath* const scan = ScanUnder(top);
  StarRecogniser recogniser(GetBasicTable(scan), scan->num_output_rows(), values);
  const AccessPath* below = top;
  for (AccessPath* path : PathsAbove(root, join, top)) {
    JoinStep step;
    if (!ReadStep(path, below, &step) || !recogniser.Take(step)) break;
    below = path;
  }
  return recogniser.Make();
}

}  // namespace rowan
