// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/pushdown/push_to_engine.h"

#include "mysqld_error.h"
#include "sql/item_subselect.h"
#include "sql/sql_class.h"
#include "sql/sql_lex.h"
#include "sql/sql_optimizer.h"
#include "sql/table.h"

#include "base/out_of_memory.h"
#include "plugin/handler/ha_rowan.h"
#include "plugin/pushdown/anti_join.h"
#include "plugin/pushdown/counted_rows.h"
#include "plugin/pushdown/extreme_row.h"
#include "plugin/pushdown/extremes_of_groups.h"
#include "plugin/pushdown/first_rows.h"
#include "plugin/pushdown/joined_scans.h"
#include "plugin/pushdown/ranked_rows.h"
#include "plugin/pushdown/whole_blocks.h"
#include "plugin/server/instance.h"
#include "plugin/server/system_variables.h"

namespace rowan {
namespace {

/// What an earlier optimisation of the block within the statement found is no longer true.
void ForgetPlans(const Query_block* block) {
  for (Table_ref* leaf = block->leaf_tables; leaf != nullptr; leaf = leaf->next_leaf) {
    const TABLE* const table = leaf->table;
    if (table == nullptr || table->file == nullptr || table->file->ht != g_hton) continue;
    auto* file = down_cast<ha_rowan*>(table->file);
    file->SetGroupPlan(nullptr);
    file->SetRowPlan(nullptr);
    file->SetBlockRows(nullptr);
  }
}

/// For a subquery of several columns that finds no row, the server takes some of their values from
/// the record (Item_singlerow_subselect), which must have the row that it would have read last.
bool ShowsItsRecord(const Query_block& block) {
  const Item_subselect* const item = block.master_query_expression()->item;
  return item != nullptr && item->subquery_type() == Item_subselect::SCALAR_SUBQUERY &&
         item->cols() > 1;
}

/// None of the shapes fits a block without any of these, as most are.
bool MayHaveGroups(const Query_block* block) {
  return block->has_windows() || block->is_explicitly_grouped() || block->is_implicitly_grouped() ||
         block->has_limit() || block->first_inner_query_expression() != nullptr ||
         block->leaf_table_count > 1;
}

void ReduceGroups(THD* thd, AccessPath* root, JOIN* join) {
  if (ReduceRankedRows(root, join) || ReduceToExtremesOfGroups(root, join)) return;
  const Query_block* const block = join->query_block;
  ReduceToFirstRows(thd, root, join);
  if (block->first_inner_query_expression() != nullptr) ReduceToExtremeRows(root, join);
  if (block->leaf_table_count > 1) ReduceAntiJoins(root, join);
}

/// Tries each shape. kOutOfMemory: the plan may have been changed in part.
Status PushBlock(THD* thd, AccessPath* root, JOIN* join) {
  return OrOutOfMemory([&] {
    if (MayHaveGroups(join->query_block) && PushdownGroupwise(thd)) ReduceGroups(thd, root, join);
    CountOrSkipRows(thd, root, join);
    PushWholeBlock(thd, root, join);
    PushJoinedScans(thd, root, join);
    return Status::Ok();
  });
}

}  // namespace

int PushToEngine(THD* thd, AccessPath* root, JOIN* join) {
  if (thd->lex->sql_command != SQLCOM_SELECT || root == nullptr) return 0;
  ForgetPlans(join->query_block);
  // What the optimizer has read itself is not read again.
  const bool is_read = join->primary_tables != 0 && join->plan_is_const();
  if (is_read || ShowsItsRecord(*join->query_block)) return 0;
  if (PushBlock(thd, root, join).ok()) return 0;
  my_error(ER_OUT_OF_RESOURCES, MYF(0));
  return 1;
}

}  // namespace rowan
