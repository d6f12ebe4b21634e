// SPDX-License-Identifier: GPL-2.0-only
#include "engine/stand_in.h"

#include <utility>

#include "engine/catalog/catalog.h"
#include "storage/storage.h"

namespace rowan {

Result<std::shared_ptr<Table>> MakeStandIn(const Catalog& catalog, PageAllocator* allocator,
                                           TableId table) {
  Result<TableDef> definition = catalog.Definition(table);
  if (!definition.ok()) return definition.status();
  auto stand_in = std::make_shared<Table>(std::move(definition).value(), allocator);
  stand_in->damaged.store(true, std::memory_order_relaxed);
  for (size_t i = 0; i < stand_in->index_count(); ++i) {
    stand_in->index(i)->dropped.store(true, std::memory_order_relaxed);
  }
  return stand_in;
}

Result<std::shared_ptr<Table>> OpenDamagedTable(const Catalog& catalog, Storage* storage,
                                                TableId table) {
  Result<TableDef> definition = catalog.Definition(table);
  if (!definition.ok()) return definition.status();
  const Status live = storage->files()->Open(definition->space);
  if (!live.ok()) return live;
  // Without its header it is unknown which pages are in use; they are read anyway.
  storage->allocator()->OpenSpace(definition->space).Ignore();
  auto opened = std::make_shared<Table>(std::move(definition).value(), storage->allocator());
  opened->damaged.store(true, std::memory_order_relaxed);
  opened->readable.store(true, std::memory_order_relaxed);
  opened->LoadCounters().Ignore();
  return opened;
}

}  // namespace rowan
