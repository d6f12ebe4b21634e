// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/server/statement_kind.h"

#include "sql/sql_class.h"
#include "sql/sql_lex.h"
#include "sql/table.h"

namespace rowan {

StatementKind KindOfStatement(THD* thd) {
  LEX* lex = thd->lex;
  for (const Query_block* block = lex->all_query_blocks_list; block != nullptr;
       block = block->next_select_in_list()) {
    if (block->is_grouped() || block->is_distinct()) return StatementKind::kAggregation;
  }
  // Tables of triggers and functions follow the statement's own.
  const Table_ref* end = lex->first_not_own_table();
  int tables = 0;
  for (const Table_ref* table = lex->query_tables; table != end && table != nullptr;
       table = table->next_global) {
    if (table->is_base_table()) ++tables;
  }
  return tables > 1 ? StatementKind::kJoin : StatementKind::kSingleTable;
}

}  // namespace rowan
