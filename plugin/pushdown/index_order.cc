// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/pushdown/index_order.h"

#include <utility>

#include "my_bitmap.h"
#include "sql/field.h"
#include "sql/filesort.h"
#include "sql/item.h"
#include "sql/join_optimizer/access_path.h"
#include "sql/key.h"
#include "sql/sql_class.h"
#include "sql/sql_optimizer.h"
#include "sql/table.h"

#include "plugin/compat/server_line.h"
#include "plugin/pushdown/conditions.h"

namespace rowan {
namespace {

/// The leading parts of the scanned key as an ORDER BY list. A statement that does not read a
/// column cannot depend on its order, nor on that of the columns after it.
ORDER* OrderOf(THD* thd, const TABLE* table, const AccessPath& path) {
  const KEY& key = table->key_info[path.index_scan().idx];
  ORDER* first = nullptr;
  ORDER** next = &first;
  for (uint i = 0; i < key.actual_key_parts; ++i) {
    const KEY_PART_INFO& part = key.key_part[i];
    if (!bitmap_is_set(table->read_set, part.field->field_index())) break;
    if ((part.key_part_flag & HA_PART_KEY_SEG) != 0 || part.field->is_array()) return nullptr;
    if (!SortsAsIndexed(part.field)) return nullptr;
    auto* const item = new (thd->mem_root) Item_field(part.field);
    if (item == nullptr) return nullptr;
    auto* const order = NewOrder(thd->mem_root, item);
    if (order == nullptr) return nullptr;
    const bool descends = (part.key_part_flag & HA_REVERSE_SORT) != 0;
    order->direction = descends != path.index_scan().reverse ? ORDER_DESC : ORDER_ASC;
    *next = order;
    next = &order->next;
  }
  return first;
}

}  // namespace

AccessPath* SortInIndexOrder(JOIN* join, AccessPath* path) {
  THD* const thd = join->thd;
  TABLE* const table = path->index_scan().table;
  ORDER* const order = OrderOf(thd, table, *path);
  if (order == nullptr) return nullptr;
  auto* const scan = new (thd->mem_root) AccessPath(*path);
  if (scan == nullptr) return nullptr;
  Mem_root_array<TABLE*> tables(thd->mem_root);
  if (tables.push_back(table)) return nullptr;
  auto* const sort = new (thd->mem_root)
      Filesort(thd, std::move(tables), /*keep_buffers=*/false, order, HA_POS_ERROR,
               /*remove_duplicates=*/false, /*force_sort_rowids=*/false, /*unwrap_rollup=*/false);
  if (sort == nullptr) return nullptr;
  scan->index_scan().use_order = false;
  const AccessPath* const sorted = NewSortAccessPath(thd, scan, sort, order, false);
  if (sorted == nullptr) return nullptr;
  join->filesorts_to_cleanup.push_back(sort);
  const double rows = path->num_output_rows();
  const double cost = path->cost();
  const double first_cost = path->init_cost();
  *path = *sorted;
  path->set_num_output_rows(rows);
  path->set_cost(cost);
  path->set_init_cost(first_cost);
  return scan;
}

}  // namespace rowan
