// SPDX-License-Identifier: GPL-2.0-only
// Table statistics in the server's form, including tables that are not open, for
// INFORMATION_SCHEMA.TABLES and STATISTICS. Thread safety: all functions.
#pragma once

#include "engine/catalog/table.h"

struct handlerton;
class ha_statistics;
struct TABLE;

namespace dd {
class Table;
}

namespace rowan {

/// Rows, sizes and what is derived from them.
void FillStatistics(const Table::Statistics& now, ha_statistics* stats);

/// Stores in a table's dictionary definition what INFORMATION_SCHEMA needs when the table is not
/// open. At CREATE and ALTER.
void RememberForStatistics(const TABLE& table, dd::Table* definition);

void SetStatisticsHooks(handlerton* hton);

}  // namespace rowan
