// SPDX-License-Identifier: GPL-2.0-only
// A stand-in for a table whose file is lost or damaged: it has the definition, so that the table
// can be dropped or replaced, and no pages. The other partitions of a partitioned table can
// still be used. Thread safety: the engine's.
#pragma once

#include <memory>

#include "base/ids.h"
#include "base/status.h"

namespace rowan {

class Catalog;
class PageAllocator;
class Storage;
class Table;

/// Of a table that OpenTable fails for. kNotFound: the catalog does not have it. REQUIRES: nobody
/// reads or changes rows or counters of what is returned.
Result<std::shared_ptr<Table>> MakeStandIn(const Catalog& catalog, PageAllocator* allocator,
                                           TableId table);

/// Of a table that OpenTable fails for because something of it cannot be read: what is readable
/// can be read, and nothing changed. kNotFound: the catalog, or the folder, does not have it.
Result<std::shared_ptr<Table>> OpenDamagedTable(const Catalog& catalog, Storage* storage,
                                                TableId table);

}  // namespace rowan
