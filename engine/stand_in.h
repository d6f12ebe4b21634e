// SPDX-License-Identifier: GPL-2.0-only
// A stand-in for a table whose file is lost or damaged: it has the definition, so that the table
// can be dropped or replaced, but no pages. The other partitions of a partitioned table stay
// usable. Thread safety: the engine's.
#pragma once

#include <memory>

#include "base/ids.h"
#include "base/status.h"

namespace rowan {

class Catalog;
class PageAllocator;
class Storage;
class Table;

/// For a table that OpenTable fails for. kNotFound: the catalog does not have it. REQUIRES: the
/// rows and counters of the result are neither read nor changed.
Result<std::shared_ptr<Table>> MakeStandIn(const Catalog& catalog, PageAllocator* allocator,
                                           TableId table);

/// For a table that OpenTable fails for because part of it is unreadable: the rest can be read, but
/// nothing changed. kNotFound: the catalog, or the folder, does not have it.
Result<std::shared_ptr<Table>> OpenDamagedTable(const Catalog& catalog, Storage* storage,
                                                TableId table);

}  // namespace rowan
