// SPDX-License-Identifier: GPL-2.0-only
// What an ALTER says of a table whose indexes were built. Thread safety: pure function.
#pragma once

#include "engine/build/index_build.h"
#include "engine/catalog/table.h"

namespace rowan {

inline TableDef WithBuiltIndexes(const Table& table, const IndexBuild& build) {
  TableDef changed = table.definition();
  for (const IndexBuild::NewIndex& built : build.indexes()) {
    changed.indexes[built.index_number].id = built.id;
    changed.indexes[built.index_number].root = built.root;
  }
  return changed;
}

}  // namespace rowan
