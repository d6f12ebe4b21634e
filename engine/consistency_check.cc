// SPDX-License-Identifier: GPL-2.0-only
// CHECK TABLE's engine half: every page of a table's trees and of its space. What the entries mean
// is checked by the caller through the visit function (it knows columns and visibility).
#include "engine/engine.h"

#include "base/logging.h"
#include "engine/engine_impl.h"

namespace rowan {

Status Engine::CheckIndex(Table* table, size_t index, const Tree::Visit& visit) {
  const Status status = table->index(index)->tree.Check(visit);
  if (status.Is(Code::kCorrupt)) {
    LogError("Index '{}' of table '{}' is damaged: {} (page {}).",
             table->definition().indexes[index].name, table->name(), status.message(),
             status.detail());
  }
  return status;
}

Status Engine::CheckSpace(Table* table) {
  Result<uint32_t> allocated = allocator()->CheckSpace(table->space());
  if (!allocated.ok()) {
    LogError("The space of table '{}' is damaged: {}.", table->name(),
             allocated.status().message());
    return allocated.status();
  }
  return Status::Ok();
}

}  // namespace rowan
