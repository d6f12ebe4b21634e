// SPDX-License-Identifier: GPL-2.0-only
#include "engine/stand_in.h"

#include "engine/engine.h"
#include "engine/engine_impl.h"

namespace rowan {

Result<std::shared_ptr<Table>> MakeStandIn(Engine* engine, TableId table) {
  Result<TableDef> definition = engine->impl()->catalog->Definition(table);
  if (!definition.ok()) return definition.status();
  auto stand_in =
      std::make_shared<Table>(std::move(definition).value(), engine->impl()->storage->allocator());
  stand_in->damaged.store(true, std::memory_order_relaxed);
  for (size_t i = 0; i < stand_in->index_count(); ++i) {
    stand_in->index(i)->dropped.store(true, std::memory_order_relaxed);
  }
  return stand_in;
}

}  // namespace rowan
