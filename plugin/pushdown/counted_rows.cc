// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/pushdown/counted_rows.h"

#include <memory>
#include <utility>

#include "sql/item_sum.h"
#include "sql/join_optimizer/access_path.h"
#include "sql/range_optimizer/range_optimizer.h"
#include "sql/sql_class.h"
#include "sql/sql_executor.h"
#include "sql/sql_lex.h"
#include "sql/sql_opt_exec_shared.h"
#include "sql/sql_optimizer.h"

#include "plugin/handler/ha_rowan.h"
#include "plugin/handler/key_bounds.h"
#include "plugin/pushdown/range_condition.h"
#include "plugin/pushdown/range_of_condition.h"
#include "plugin/pushdown/table_access.h"

namespace rowan {
namespace {

/// The server skips fewer rows just as fast.
constexpr ha_rows kSkipMin = 16;

/// What the scan reads, as the plan tells it: filled in if it can be counted.
class Recogniser {
 public:
  Recogniser(ha_rowan* file, const TABLE* table)
      : file_(file), table_(table), index_condition_(file->pushed_idx_cond) {}

  std::unique_ptr<RowPlan> Recognise(AccessPath* path) {
    if (path->type == AccessPath::FILTER) {
      if (path->filter().materialize_subqueries) return nullptr;
      plan_->condition = path->filter().condition;
      path = path->filter().child;
    }
    return Scan(path) ? std::move(plan_) : nullptr;
  }
  /// The same with ranges that the plan of the statement does not have, of all its conditions.
  std::unique_ptr<RowPlan> RecogniseRanges(const AccessPath& ranges, Item* condition) {
    plan_->condition = condition;
    index_condition_ = nullptr;
    return Ranges(ranges) ? std::move(plan_) : nullptr;
  }

 private:
  bool Scan(AccessPath* path) {
    switch (path->type) {
      case AccessPath::TABLE_SCAN: return AllRows(MAX_KEY);
      case AccessPath::INDEX_SCAN:
        plan_->forward = !path->index_scan().reverse;
        return AllRows(static_cast<uint>(path->index_scan().idx));
      case AccessPath::INDEX_RANGE_SCAN: return Ranges(*path);
      case AccessPath::REF: return EqualKeys(*path);
      default: return false;
    }
  }

  bool AllRows(uint key) {
    if (plan_->condition != nullptr || index_condition_ != nullptr) return false;
    if (key != MAX_KEY && !HasEntryForEachRow(key)) return false;
    plan_->key = key;
    plan_->ranges.emplace_back();
    return true;
  }

  [[nodiscard]] bool HasEntryForEachRow(uint key) const {
    uint32_t index_number = 0;
    return IsSearchableKey(file_->part().codec(), key, &index_number);
  }

  bool TakeKey(uint key) {
    plan_->key = key;
    if (!HasEntryForEachRow(key)) return false;
    if (index_condition_ == nullptr) return true;
    plan_->index_condition = index_condition_;
    return file_->pushed_idx_cond_keyno == key;
  }

  /// `bounds`: as HoldsBetween takes them.
  template <typename... Bounds>
  [[nodiscard]] bool ConditionsHoldBetween(Bounds... bounds) const {
    const KEY& key = table_->key_info[plan_->key];
    return HoldsBetween(plan_->condition, key, bounds...) &&
           HoldsBetween(plan_->index_condition, key, bounds...);
  }

  bool Ranges(const AccessPath& path) {
    const auto& scan = path.index_range_scan();
    if (scan.geometry || scan.need_rows_in_rowid_order || !TakeKey(scan.index) ||
        !ConditionsHoldBetween(scan.ranges, scan.num_ranges)) {
      return false;
    }
    plan_->forward = !scan.reverse;
    for (unsigned i = 0; i < scan.num_ranges; ++i) {
      QUICK_RANGE* range = scan.ranges[i];
      key_range low;
      key_range high;
      range->make_min_endpoint(&low);
      range->make_max_endpoint(&high);
      // Equal keys are read forwards where their order does not matter.
      const bool equal = (range->flag & EQ_RANGE) != 0 && !scan.using_extended_key_parts;
      plan_->forward = plan_->forward || equal;
      const bool has_low = (range->flag & NO_MIN_RANGE) == 0 && low.keypart_map != 0;
      const bool has_high = (range->flag & NO_MAX_RANGE) == 0 && high.keypart_map != 0;
      if (!MakeRange(file_->part(), scan.index, has_low ? &low : nullptr,
                     has_high ? &high : nullptr, &plan_->ranges.emplace_back())) {
        return false;
      }
    }
    return true;
  }

  bool EqualKeys(const AccessPath& path) {
    const Index_lookup& ref = *path.ref().ref;
    // Index_lookup::key_err only tells that nothing was looked up yet.
    if (ref.depend_map != 0 || ref.null_ref_key != nullptr || ref.key < 0 ||
        !TakeKey(static_cast<uint>(ref.key)) || !ConditionsHoldBetween(ref.key_parts)) {
      return false;
    }
    for (uint part = 0; part < ref.key_parts; ++part) {
      // Not known yet, or guarded, or NULL where nothing is equal to it.
      if (ref.key_copy[part] != nullptr) return false;
      if (ref.cond_guards != nullptr && ref.cond_guards[part] != nullptr) return false;
      const bool rejects = (ref.null_rejecting & (key_part_map{1} << part)) != 0;
      if (rejects && ref.items[part]->is_null()) return false;
    }
    plan_->forward = !path.ref().reverse;
    key_range key;
    key.key = ref.key_buff;
    key.length = ref.key_length;
    key.keypart_map = make_prev_keypart_map(ref.key_parts);
    key.flag = HA_READ_KEY_EXACT;
    key_range end = key;
    end.flag = HA_READ_AFTER_KEY;
    return MakeRange(file_->part(), plan_->key, &key, &end, &plan_->ranges.emplace_back());
  }

  ha_rowan* const file_;
  const TABLE* const table_;
  Item* index_condition_;
  std::unique_ptr<RowPlan> plan_ = std::make_unique<RowPlan>();
};

/// The number of rows, whatever they are.
bool IsRowCount(Item* item) {
  if (item->type() != Item::SUM_FUNC_ITEM || item->m_is_window_function) return false;
  auto* sum = down_cast<Item_sum*>(item);
  if (sum->sum_func() != Item_sum::COUNT_FUNC || sum->has_with_distinct()) return false;
  Item* argument = sum->get_arg(0);
  if (argument->const_item()) return !argument->is_nullable() && !argument->has_subquery();
  return argument->type() == Item::FIELD_ITEM && !argument->is_nullable();
}

bool SelectsRowCounts(const JOIN& join) {
  if (!join.implicit_grouping || join.having_cond != nullptr || join.m_windows.elements != 0) {
    return false;
  }
  for (Item* item : *join.fields) {
    if (!IsRowCount(item)) return false;
  }
  return true;
}

/// The one table of a block.
struct Reading {
  THD* thd;
  ha_rowan* file;
  TABLE* table;
};

/// The iterator of a count looks for the table among those of the old optimizer's plan. The other
/// one makes no such list: it gets one with nothing but the table.
bool HasTableToCount(const Reading& reading, JOIN* join) {
  if (join->qep_tab != nullptr) return true;
  THD* const thd = reading.thd;
  if (!thd->lex->using_hypergraph_optimizer() || !join->temp_tables.empty()) return false;
  auto* const shared = new (thd->mem_root) QEP_shared;
  auto* const tab = new (thd->mem_root) QEP_TAB;
  if (shared == nullptr || tab == nullptr) return false;
  shared->set_table(reading.table);
  shared->set_join(join);
  shared->set_type(JT_ALL);
  tab->set_qs(shared);
  join->qep_tab = tab;
  join->tables = 1;
  join->primary_tables = 1;
  return true;
}

/// By the ranges of `key` that the condition asks for, however the plan reads the table.
std::unique_ptr<RowPlan> RangesBehind(const Reading& reading, uint key, Item* condition) {
  TABLE* const table = reading.table;
  const KEY& info = table->key_info[key];
  uint32_t index_number = 0;
  // Whether it is about the parts of the key at all, before much is done for it.
  if (!HoldsBetween(condition, info, info.user_defined_key_parts)) return nullptr;
  if (!IsSearchableKey(reading.file->part().codec(), key, &index_number)) return nullptr;
  const AccessPath* ranges = RangesOfCondition(reading.thd, table, key, condition);
  if (ranges == nullptr) return nullptr;
  return Recogniser(reading.file, table).RecogniseRanges(*ranges, condition);
}

std::unique_ptr<RowPlan> RangesOfAnyKey(const Reading& reading, Item* condition) {
  const TABLE& table = *reading.table;
  for (uint key = 0; condition != nullptr && key < table.s->keys; ++key) {
    if (!table.keys_in_use_for_query.is_set(key)) continue;
    std::unique_ptr<RowPlan> plan = RangesBehind(reading, key, condition);
    if (plan != nullptr) return plan;
  }
  return nullptr;
}

/// How the rows below an aggregate can be counted.
std::unique_ptr<RowPlan> CountablePlan(const Reading& reading, AccessPath* path, const JOIN& join) {
  std::unique_ptr<RowPlan> planned = Recogniser(reading.file, reading.table).Recognise(path);
  const AccessPath* const scan = path->type == AccessPath::FILTER ? path->filter().child : path;
  // Scans and look-ups leave parts of the condition that ranges do not.
  const bool has_ranges = scan == path || scan->type == AccessPath::INDEX_RANGE_SCAN;
  if (planned != nullptr && has_ranges) return planned;
  std::unique_ptr<RowPlan> ranges = RangesOfAnyKey(reading, join.where_cond);
  return ranges != nullptr ? std::move(ranges) : std::move(planned);
}

void CountRows(const Reading& reading, AccessPath* root, JOIN* join) {
  if (root->aggregate().olap != UNSPECIFIED_OLAP_TYPE || !SelectsRowCounts(*join)) return;
  if (join->const_tables != 0) return;
  std::unique_ptr<RowPlan> plan = CountablePlan(reading, root->aggregate().child, *join);
  if (plan == nullptr || !HasTableToCount(reading, join)) return;
  // Rows of the whole table are what the handler counts without a plan.
  if (plan->key != MAX_KEY) {
    plan->kind = RowPlan::Kind::kCount;
    plan->forward = true;
    reading.file->SetRowPlan(std::move(plan));
  }
  root->type = AccessPath::UNQUALIFIED_COUNT;
}

/// An index scan of many rows in order, with a condition that is a range of that index.
std::unique_ptr<RowPlan> ScannedRange(const Reading& reading, AccessPath* path) {
  if (path->type != AccessPath::FILTER || path->filter().materialize_subqueries) return nullptr;
  const AccessPath* const scan = path->filter().child;
  if (scan->type != AccessPath::INDEX_SCAN || reading.file->pushed_idx_cond != nullptr)
    return nullptr;
  std::unique_ptr<RowPlan> plan =
      RangesBehind(reading, static_cast<uint>(scan->index_scan().idx), path->filter().condition);
  if (plan != nullptr) plan->forward = !scan->index_scan().reverse;
  return plan;
}

void SkipRows(const Reading& reading, AccessPath* root, JOIN* join) {
  auto& limit = root->limit_offset();
  if (limit.offset < kSkipMin || limit.count_all_rows || limit.reject_multiple_rows) return;
  if (limit.limit <= limit.offset) return;  // reads only what is skipped
  std::unique_ptr<RowPlan> plan = Recogniser(reading.file, reading.table).Recognise(limit.child);
  if (plan == nullptr) plan = ScannedRange(reading, limit.child);
  if (plan == nullptr || plan->ranges.size() != 1) return;
  plan->kind = RowPlan::Kind::kSkip;
  plan->skip = limit.offset;
  plan->skipped_rows =
      limit.send_records_override != nullptr ? limit.send_records_override : &join->send_records;
  reading.file->SetRowPlan(std::move(plan));
  if (limit.limit != HA_POS_ERROR) limit.limit -= limit.offset;
  limit.offset = 0;
}

}  // namespace

void CountOrSkipRows(THD* thd, AccessPath* root, JOIN* join) {
  if (root->type != AccessPath::AGGREGATE && root->type != AccessPath::LIMIT_OFFSET) return;
  ha_rowan* file = OnlyTableOf(*join);
  if (file == nullptr) return;
  const Reading reading{thd, file, join->query_block->leaf_tables->table};
  if (root->type == AccessPath::AGGREGATE) CountRows(reading, root, join);
  if (root->type == AccessPath::LIMIT_OFFSET) SkipRows(reading, root, join);
}

}  // namespace rowan
