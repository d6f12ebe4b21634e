// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/pushdown/first_rows.h"

#include <optional>
#include <vector>

#include "sql/field.h"
#include "sql/item.h"
#include "sql/join_optimizer/access_path.h"
#include "sql/key.h"
#include "sql/sql_lex.h"
#include "sql/sql_opt_exec_shared.h"
#include "sql/sql_optimizer.h"
#include "sql/sql_select.h"
#include "sql/table.h"

#include "plugin/pushdown/group_reduction.h"

namespace rowan {
namespace {

bool IsPlainLimit(const Query_block* block, const JOIN* join) {
  return block->has_limit() && block->is_ordered() && block->leaf_table_count == 1 &&
         !block->is_explicitly_grouped() && !block->is_implicitly_grouped() &&
         !block->is_distinct() && !block->has_windows() && join->having_cond == nullptr &&
         block->master_query_expression()->is_simple() && !join->calc_found_rows;
}

/// What a column of the table is made equal to.
struct Binding {
  Field* field = nullptr;
  Item* value = nullptr;
};

std::vector<Binding> BindingsOf(const JOIN* join, const TABLE* table) {
  std::vector<Binding> bindings;
  for (Item* conjunct : Conjuncts(join->where_cond)) {
    Item* value = nullptr;
    Field* const field = BoundField(conjunct, table, &value);
    if (field != nullptr) bindings.push_back({field, value});
  }
  return bindings;
}

/// A key image of the value finds all rows that are equal to it.
bool CanSearchBy(const Binding& binding) {
  const Field* const other = FieldOf(binding.value);
  if (other != nullptr) return CompareAlike(binding.field, other);
  return binding.field->result_type() == INT_RESULT && binding.value->result_type() == INT_RESULT &&
         binding.value->const_for_execution();
}

/// A look-up of the group in the key; null: it cannot be made of these values.
Index_lookup* LookUp(THD* thd, const TABLE* table, const KeyChoice& choice,
                     const std::vector<Binding>& bindings) {
  const KEY& key = table->key_info[choice.key];
  uint length = 0;
  for (uint i = 0; i < choice.group_parts; ++i) length += key.key_part[i].store_length;
  auto* const lookup = new (thd->mem_root) Index_lookup;
  if (lookup == nullptr || init_ref(thd, choice.group_parts, length, choice.key, lookup)) {
    return nullptr;
  }
  uchar* image = lookup->key_buff;
  for (uint i = 0; i < choice.group_parts; ++i) {
    const KEY_PART_INFO& part = key.key_part[i];
    const Binding* found = nullptr;
    for (const Binding& binding : bindings) {
      if (binding.field == part.field && CanSearchBy(binding)) found = &binding;
    }
    if (found == nullptr) return nullptr;
    if (init_ref_part(thd, i, found->value, nullptr, true, 0, found->value->used_tables(),
                      part.null_bit != 0, &part, image, lookup)) {
      return nullptr;
    }
    image += part.store_length;
  }
  return lookup;
}

/// In place of a scan that skips the rows of all other groups.
void LookUpGroup(THD* thd, AccessPath* path, const GroupWish& wish,
                 const std::vector<Binding>& bindings) {
  TABLE* const table = wish.table;
  const std::optional<KeyChoice> choice = FindKey(wish);
  if (!choice.has_value() || table->file->pushed_idx_cond != nullptr) return;
  Index_lookup* const lookup = LookUp(thd, table, *choice, bindings);
  if (lookup == nullptr) return;
  if (table->key_read && !table->covering_keys.is_set(choice->key)) table->set_keyread(false);
  path->type = AccessPath::REF;
  path->ref().table = table;
  path->ref().ref = lookup;
  path->ref().use_order = true;
  path->ref().reverse = choice->from_end;
}

bool IsScan(const AccessPath* path) {
  return path->type == AccessPath::TABLE_SCAN || path->type == AccessPath::INDEX_SCAN;
}

}  // namespace

void ReduceToFirstRows(THD* thd, AccessPath* root, JOIN* join) {
  Query_block* const block = join->query_block;
  if (!IsPlainLimit(block, join)) return;
  const ha_rows limit = join->query_expression()->select_limit_cnt;  // with the offset
  if (limit == HA_POS_ERROR || limit == 0) return;
  GroupWish wish;
  wish.table = block->leaf_tables->table;
  wish.most = limit;
  if (!IsReducible(wish.table)) return;
  const std::vector<Binding> bindings = BindingsOf(join, wish.table);
  for (const Binding& binding : bindings) AddOnce(&wish.groups, binding.field);
  for (Item* conjunct : Conjuncts(join->where_cond)) {
    if (!HoldsForWholeGroups(conjunct, wish.table, wish.groups)) return;
  }
  for (ORDER* part = block->order_list.first; part != nullptr; part = part->next) {
    Field* const field = SourceField(root, join, *part->item, wish.table);
    if (field == nullptr) return;
    wish.order.push_back({field, part->direction == ORDER_DESC});
  }
  const TableAccess access = FindAccess(root, join, wish.table);
  if (access.path == nullptr || wish.groups.empty()) return;
  if (access.order_is_free) {
    Reduce(access, wish);
  } else if (IsScan(access.path)) {
    LookUpGroup(thd, access.path, wish, bindings);
  }
}

}  // namespace rowan
