// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/pushdown/filtered_scan.h"

#include <memory>
#include <utility>

#include "sql/join_optimizer/access_path.h"

#include "plugin/blocks/filtered_rows.h"
#include "plugin/handler/ha_rowan.h"
#include "plugin/pushdown/block_access.h"

namespace rowan {
void PushFilter(THD* thd, ha_rowan* file, AccessPath* root, JOIN* join) {
  AccessPath* const filter = FilterOf(root, join, file->part().server_table());
  if (filter == nullptr || !ReadsManyRows(*filter->filter().child)) return;
  BlockAccess access;
  const Counter obstacle = ReadBlockAccess(thd, file, filter, &access);
  if (obstacle != Counter::kCount) return AddCounter(obstacle);
  auto rows = std::make_unique<FilteredRows>(std::move(access.plan), nullptr);
  ReadInBatches(access, file, std::move(rows));
}

}  // namespace rowan
