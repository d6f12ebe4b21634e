// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/pushdown/range_of_condition.h"

#include "sql/error_handler.h"
#include "sql/join_optimizer/access_path.h"
#include "sql/opt_trace.h"
#include "sql/psi_memory_key.h"
#include "sql/range_optimizer/range_optimizer.h"
#include "sql/sql_class.h"
#include "sql/sql_const.h"
#include "sql/table.h"

namespace rowan {
namespace {

/// The server has examined the condition before and warned about its constants.
class ToldBefore : public Internal_error_handler {
 public:
  explicit ToldBefore(THD* thd) : thd_(thd) { thd_->push_internal_handler(this); }
  ~ToldBefore() override { thd_->pop_internal_handler(); }
  bool handle_condition(THD*, uint, const char*, Sql_condition::enum_severity_level* level,
                        const char*) override {
    return *level != Sql_condition::SL_ERROR;
  }

 private:
  THD* const thd_;
};

/// For its lifetime the range optimizer finds no other way to read the table than by ranges.
class OnlyRanges {
 public:
  OnlyRanges(THD* thd, TABLE* table)
      : thd_(thd),
        table_(table),
        switches_(thd->variables.optimizer_switch),
        covering_keys_(table->covering_keys),
        quick_keys_(table->quick_keys),
        quick_condition_rows_(table->quick_condition_rows) {
    thd->variables.optimizer_switch &= ~OPTIMIZER_SKIP_SCAN;
    table->covering_keys.clear_all();
  }
  ~OnlyRanges() {
    thd_->variables.optimizer_switch = switches_;
    table_->covering_keys = covering_keys_;
    table_->quick_keys = quick_keys_;
    table_->quick_condition_rows = quick_condition_rows_;
  }
  OnlyRanges(const OnlyRanges&) = delete;
  OnlyRanges& operator=(const OnlyRanges&) = delete;

 private:
  THD* const thd_;
  TABLE* const table_;
  const ulonglong switches_;
  const Key_map covering_keys_;
  const Key_map quick_keys_;
  const ha_rows quick_condition_rows_;
};

}  // namespace

AccessPath* RangesOfCondition(THD* thd, TABLE* table, uint key, Item* condition) {
  const ToldBefore told_before(thd);
  const OnlyRanges only_ranges(thd, table);
  const Opt_trace_object step(&thd->opt_trace);
  MEM_ROOT scratch(key_memory_test_quick_select_exec, thd->variables.range_alloc_block_size);
  Key_map keys;
  keys.set_bit(key);
  Key_map needed;
  AccessPath* path = nullptr;
  test_quick_select(thd, thd->mem_root, &scratch, keys, 0, 0, HA_POS_ERROR,
                    /*force_quick_range=*/true, ORDER_NOT_RELEVANT, table,
                    /*skip_records_in_range=*/true, condition, &needed,
                    /*ignore_table_scan=*/true, table->pos_in_table_list->query_block, &path);
  if (path == nullptr || path->type != AccessPath::INDEX_RANGE_SCAN) return nullptr;
  return path->index_range_scan().index == key ? path : nullptr;
}

}  // namespace rowan
