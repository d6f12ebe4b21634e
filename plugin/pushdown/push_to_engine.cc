// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/pushdown/push_to_engine.h"

#include "sql/sql_class.h"
#include "sql/sql_lex.h"
#include "sql/sql_optimizer.h"
#include "sql/table.h"

#include "plugin/handler/ha_rowan.h"
#include "plugin/pushdown/ranked_rows.h"
#include "plugin/server/instance.h"
#include "plugin/server/system_variables.h"

namespace rowan {
namespace {

/// What an earlier optimisation of the block within the statement found is not true any more.
void ForgetPlans(const Query_block* block) {
  for (Table_ref* leaf = block->leaf_tables; leaf != nullptr; leaf = leaf->next_leaf) {
    const TABLE* const table = leaf->table;
    if (table == nullptr || table->file == nullptr || table->file->ht != g_hton) continue;
    down_cast<ha_rowan*>(table->file)->SetGroupPlan(nullptr);
  }
}

void ReduceGroups(AccessPath* root, JOIN* join) {
  ForgetPlans(join->query_block);
  ReduceRankedRows(root, join);
}

}  // namespace

int PushToEngine(THD* thd, AccessPath* root, JOIN* join) {
  if (thd->lex->sql_command != SQLCOM_SELECT || root == nullptr) return 0;
  if (PushdownGroupwise(thd)) ReduceGroups(root, join);
  return 0;
}

}  // namespace rowan
