// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/pushdown/whole_blocks.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "sql/item_sum.h"
#include "sql/join_optimizer/access_path.h"
#include "sql/join_optimizer/walk_access_paths.h"
#include "sql/sql_class.h"
#include "sql/sql_lex.h"
#include "sql/sql_optimizer.h"

#include "base/counters.h"
#include "plugin/blocks/grouped_rows.h"
#include "plugin/blocks/partial_aggregate.h"
#include "plugin/handler/ha_rowan.h"
#include "plugin/pushdown/block_access.h"
#include "plugin/pushdown/conditions.h"
#include "plugin/pushdown/distinct_values.h"
#include "plugin/pushdown/filtered_scan.h"
#include "plugin/pushdown/ordered_range.h"
#include "plugin/pushdown/repeated_rows.h"
#include "plugin/pushdown/sorted_scan.h"
#include "plugin/pushdown/table_access.h"
#include "plugin/server/system_variables.h"

namespace rowan {
namespace {

/// What is to be computed of one block's table.
class BlockRecogniser {
 public:
  BlockRecogniser(const TABLE* table, JOIN* join, BatchPlan* values)
      : table_(table), join_(join), values_(values) {}

  /// kCount: it is recognised. Otherwise the counter of what is in the way.
  Counter Recognise(AccessPath* root);
  [[nodiscard]] const std::vector<ValueId>& keys() const { return keys_; }
  [[nodiscard]] const std::vector<Aggregate>& aggregates() const { return aggregates_; }
  /// In the order of the scan, by one thread.
  [[nodiscard]] bool sums_reals() const { return sums_reals_; }

 private:
  bool ReadGroups(AccessPath* root);
  void AddSelectedDates(AccessPath* root, Fields* fields);
  bool ReadAggregates();
  std::optional<Aggregate> ReadAggregate(Item_sum* function);
  std::optional<Aggregate> ReadCount(Item* argument);
  std::optional<Aggregate> ReadSum(Item_sum* function);
  std::optional<Aggregate> ReadExtreme(Item_sum* function);
  std::optional<Aggregate> ReadBits(Item_sum* function);

  const TABLE* const table_;
  JOIN* const join_;
  BatchPlan* const values_;
  std::vector<ValueId> keys_;
  bool divides_finer_ = false;  ///< rows of one group of the statement may be in several here
  bool sums_reals_ = false;
  std::vector<Aggregate> aggregates_;
};

// --- groups ---

bool BlockRecogniser::ReadGroups(AccessPath* root) {
  Fields fields;
  for (const ORDER* group = join_->query_block->group_list.first; group != nullptr;
       group = group->next) {
    Item* const item = *group->item;
    if (item->has_subquery() || item->has_stored_program() || item->is_non_deterministic()) {
      return false;
    }
    const bool leaves = WalkItem(item, enum_walk::PREFIX, [&](Item* part) {
      Field* field = FieldOf(part);
      if (field == nullptr) return false;
      if (field->table != table_) field = SourceField(root, join_, part, table_);
      if (field == nullptr || field->table != table_) return true;
      AddOnce(&fields, field);
      return false;
    });
    if (leaves) return false;
    if (FieldOf(item) != nullptr) continue;
    // Of several rows only one is evaluated by the server: what may warn about each is left to it.
    const char* reason = nullptr;
    if (!values_->AddValue(item, &reason).has_value()) return false;
    divides_finer_ = true;
  }
  const size_t grouped = fields.size();
  if (join_->query_block->is_explicitly_grouped()) AddSelectedDates(root, &fields);
  divides_finer_ = divides_finer_ || fields.size() > grouped;
  for (const Field* field : fields) {
    const char* reason = nullptr;
    const std::optional<ValueId> key = values_->AddColumn(field, &reason);
    if (!key.has_value()) return false;
    keys_.push_back(*key);
    const ValueKind kind = values_->TypeOf(*key).kind;
    divides_finer_ = divides_finer_ || kind == ValueKind::kBytes || kind == ValueKind::kDouble;
  }
  return true;
}

/// The server stores the columns that the list names for each row of a group, which has a warning
/// for some dates: they are told apart like keys.
void BlockRecogniser::AddSelectedDates(AccessPath* root, Fields* fields) {
  for (Item* item : join_->query_block->fields) {
    if (item->has_aggregation()) continue;  // its columns are in the list by themselves
    WalkItem(item, enum_walk::PREFIX, [&](Item* part) {
      Field* field = FieldOf(part);
      if (field != nullptr && field->table != table_)
        field = SourceField(root, join_, part, table_);
      if (field == nullptr || field->table != table_) return false;
      if (is_temporal_type_with_date(field->type())) AddOnce(fields, field);
      return false;
    });
  }
}

// --- aggregates ---

bool BlockRecogniser::ReadAggregates() {
  // Those that take distinct values take the first row of each.
  const size_t grouped = keys_.size();
  for (Item_sum** function = join_->sum_funcs; *function != nullptr; ++function) {
    const bool is_distinct = (*function)->has_with_distinct();
    if (is_distinct && !AddDistinctArguments(*function, values_, &keys_)) return false;
  }
  divides_finer_ = divides_finer_ || keys_.size() > grouped;
  for (Item_sum** function = join_->sum_funcs; *function != nullptr; ++function) {
    if ((*function)->has_with_distinct()) continue;
    const std::optional<Aggregate> aggregate = ReadAggregate(*function);
    if (!aggregate.has_value()) return false;
    aggregates_.push_back(*aggregate);
  }
  const auto& selected = join_->query_block->fields;
  return std::none_of(selected.begin(), selected.end(),
                      [](const Item* item) { return item->is_non_deterministic(); });
}

std::optional<Aggregate> BlockRecogniser::ReadAggregate(Item_sum* function) {
  if (function->is_rollup_sum_wrapper() || function->argument_count() != 1) return std::nullopt;
  switch (function->sum_func()) {
    case Item_sum::COUNT_FUNC: return ReadCount(function->get_arg(0));
    case Item_sum::SUM_FUNC:
    case Item_sum::AVG_FUNC: return ReadSum(function);
    case Item_sum::MIN_FUNC:
    case Item_sum::MAX_FUNC: return ReadExtreme(function);
    case Item_sum::SUM_BIT_FUNC: return ReadBits(function);
    default: return std::nullopt;
  }
}

std::optional<Aggregate> BlockRecogniser::ReadCount(Item* argument) {
  const bool is_plain =
      argument->const_item() ? !argument->has_subquery() : FieldOf(argument, table_) != nullptr;
  if (is_plain && !argument->is_nullable()) return Aggregate{Aggregate::Kind::kCountRows};
  const char* reason = nullptr;
  const std::optional<ValueId> value = values_->AddValue(argument, &reason);
  if (!value.has_value()) return std::nullopt;
  return Aggregate{Aggregate::Kind::kCount, *value};
}

std::optional<Aggregate> BlockRecogniser::ReadSum(Item_sum* function) {
  const char* reason = nullptr;
  const std::optional<ValueId> value = values_->AddValue(function->get_arg(0), &reason);
  if (!value.has_value()) return std::nullopt;
  if (function->result_type() == REAL_RESULT) {
    // Of several parts of a group not even one may be added up by itself.
    if (values_->TypeOf(*value).kind != ValueKind::kDouble || divides_finer_) return std::nullopt;
    sums_reals_ = true;
    return Aggregate{Aggregate::Kind::kSum, *value};
  }
  if (function->result_type() != DECIMAL_RESULT) return std::nullopt;
  switch (values_->TypeOf(*value).kind) {
    case ValueKind::kSigned:
    case ValueKind::kUnsigned:
    case ValueKind::kDecimal:
    case ValueKind::kWideDecimal: break;
    default: return std::nullopt;
  }
  return Aggregate{Aggregate::Kind::kSum, *value};
}

std::optional<Aggregate> BlockRecogniser::ReadExtreme(Item_sum* function) {
  const char* reason = nullptr;
  const std::optional<ValueId> value = values_->AddValue(function->get_arg(0), &reason);
  if (!value.has_value()) return std::nullopt;
  // Of several equal texts, or 0.0 and -0.0, the first one counts, which parts of a group do not
  // tell.
  const ValueKind kind = values_->TypeOf(*value).kind;
  const bool has_variants = kind == ValueKind::kBytes || kind == ValueKind::kDouble;
  if (has_variants && divides_finer_) return std::nullopt;
  const bool least = function->sum_func() == Item_sum::MIN_FUNC;
  return Aggregate{least ? Aggregate::Kind::kMin : Aggregate::Kind::kMax, *value};
}

std::optional<Aggregate> BlockRecogniser::ReadBits(Item_sum* function) {
  const char* reason = nullptr;
  const std::optional<ValueId> value = values_->AddValue(function->get_arg(0), &reason);
  if (!value.has_value() || function->result_type() != INT_RESULT) return std::nullopt;
  const ValueKind kind = values_->TypeOf(*value).kind;
  if (kind != ValueKind::kSigned && kind != ValueKind::kUnsigned) return std::nullopt;
  const std::string_view name = function->func_name();
  if (name == "bit_and") return Aggregate{Aggregate::Kind::kBitAnd, *value};
  return Aggregate{name == "bit_or" ? Aggregate::Kind::kBitOr : Aggregate::Kind::kBitXor, *value};
}

Counter BlockRecogniser::Recognise(AccessPath* root) {
  if (!ReadGroups(root)) return Counter::kBlocksLeftByGroup;
  return ReadAggregates() ? Counter::kCount : Counter::kBlocksLeftByAggregate;
}

// --- the plan ---

/// The aggregation of the block; null: there is none, or more than one.
AccessPath* AggregationOf(AccessPath* root, JOIN* join) {
  AccessPath* found = nullptr;
  int count = 0;
  WalkAccessPaths(
      root, join, WalkAccessPathPolicy::ENTIRE_QUERY_BLOCK, [&](AccessPath* path, JOIN*) {
        const bool aggregates =
            path->type == AccessPath::AGGREGATE || path->type == AccessPath::TEMPTABLE_AGGREGATE;
        if (!aggregates) return false;
        found = path;
        ++count;
        return false;
      });
  return count == 1 ? found : nullptr;
}

bool IsPlainAggregation(const JOIN& join, const AccessPath& aggregation) {
  const Query_block& block = *join.query_block;
  const bool has_rollup = aggregation.type == AccessPath::AGGREGATE &&
                          aggregation.aggregate().olap != UNSPECIFIED_OLAP_TYPE;
  // Groups in the order of an index come one by one, and what is above may not want them all.
  const bool may_end_early = aggregation.type == AccessPath::AGGREGATE &&
                             block.is_explicitly_grouped() &&
                             (block.has_limit() || block.outer_query_block() != nullptr);
  return !has_rollup && !may_end_early && block.olap == UNSPECIFIED_OLAP_TYPE &&
         !block.has_windows() && join.const_tables == 0;
}

/// Puts the functions' stand-ins into the plan. False: no memory, nothing has changed.
bool StandIn(THD* thd, const JOIN& join, const std::vector<Aggregate>& aggregates,
             GroupedRows* rows) {
  std::vector<Item_sum*> all;
  size_t number = 0;
  for (Item_sum** function = join.sum_funcs; *function != nullptr; ++function) {
    all.push_back(*function);
    if ((*function)->has_with_distinct()) continue;
    auto* const one =
        new (thd->mem_root) PartialAggregate(thd, *function, rows, aggregates[number], number);
    if (one == nullptr || !one->Prepare()) return false;
    all.back() = one;
    ++number;
  }
  std::copy(all.begin(), all.end(), join.sum_funcs);
  return true;
}

/// Threads that look for few rows of many take less time than one that also adds them up.
bool FiltersByWorkers(const BlockAccess& access) {
  constexpr double kPassingMax = 0.25;
  return access.plan.helpers != 0 && access.top != access.scan &&
         access.top->num_output_rows() < kPassingMax * access.scan->num_output_rows();
}

/// Whether the scan delivers groups from now on.
bool PushAggregation(THD* thd, ha_rowan* file, AccessPath* root, JOIN* join) {
  AccessPath* const aggregation = AggregationOf(root, join);
  if (aggregation == nullptr || !IsPlainAggregation(*join, *aggregation)) return false;
  AccessPath* const input = aggregation->type == AccessPath::AGGREGATE
                                ? aggregation->aggregate().child
                                : aggregation->temptable_aggregate().subquery_path;
  BlockAccess access;
  Counter obstacle = ReadBlockAccess(thd, file, input, &access);
  if (obstacle == Counter::kCount &&
      (!HasAllColumns(*file, access) ||
       (LooksUpKeys(*access.scan) && !ReadsManyRows(*access.scan)))) {
    obstacle = Counter::kBlocksLeftByAccess;
  }
  BlockRecogniser recogniser(file->part().server_table(), join, access.plan.values.get());
  if (obstacle == Counter::kCount) obstacle = recogniser.Recognise(root);
  const bool has_parts = file->part().server_table()->part_info != nullptr;
  if (obstacle == Counter::kCount && recogniser.sums_reals() &&
      (has_parts || FiltersByWorkers(access))) {
    obstacle = Counter::kBlocksLeftByAggregate;
  }
  if (obstacle != Counter::kCount) {
    AddCounter(obstacle);
    return false;
  }
  // Groups in the order of an index come one after the other.
  const bool in_order =
      aggregation->type == AccessPath::AGGREGATE && join->query_block->is_explicitly_grouped();
  if (in_order || !GroupedPieces::IsPossible(*access.plan.values, recogniser.aggregates())) {
    access.plan.helpers = 0;
  }
  auto rows = std::make_unique<GroupedRows>(std::move(access.plan), recogniser.keys(),
                                            recogniser.aggregates());
  if (!StandIn(thd, *join, recogniser.aggregates(), rows.get())) return false;
  ReadInBatches(access, file, std::move(rows));
  return true;
}

/// Partitions are read one after the other: in no order of an index.
bool MayFollowEachOther(const ha_rowan& file, AccessPath* root, JOIN* join) {
  const TableAccess access = FindAccess(root, join, file.part().server_table());
  if (access.path == nullptr || access.order_is_free) return access.path != nullptr;
  const AccessPath* const aggregation = AggregationOf(root, join);
  const bool groups_all =
      aggregation != nullptr && (aggregation->type == AccessPath::TEMPTABLE_AGGREGATE ||
                                 !join->query_block->is_explicitly_grouped());
  return groups_all && access.path->type == AccessPath::INDEX_RANGE_SCAN &&
         (access.path->index_range_scan().mrr_flags & HA_MRR_SORTED) == 0;
}

}  // namespace

void PushWholeBlock(THD* thd, AccessPath* root, JOIN* join) {
  const Query_block& block = *join->query_block;
  const bool aggregates = block.is_explicitly_grouped() || block.is_implicitly_grouped();
  // Nothing stands above the rows of most queries for one of them.
  if (!aggregates && GetBasicTable(root) != nullptr) return;
  if (!PushdownBlocks(thd)) return;
  ha_rowan* const file = OnlyTableOrPartsOf(*join);
  if (file == nullptr) return;
  const bool has_parts = file->part().server_table()->part_info != nullptr;
  if (has_parts && !MayFollowEachOther(*file, root, join)) {
    return AddCounter(Counter::kBlocksLeftByAccess);
  }
  if (aggregates && PushAggregation(thd, file, root, join)) return;
  if (PushFirstOfOrder(thd, file, root, join) ||
      (!has_parts && PushOrderedRange(thd, file, root, join)) ||
      DropRepeatedRows(thd, file, root, join)) {
    return;
  }
  PushFilter(thd, file, root, join);
}

}  // namespace rowan
