// SPDX-License-Identifier: GPL-2.0-only
// A table's statistics as a row of the catalog's tree, where they survive a restart. Format:
// docs/formats/catalog.md. Thread-safe.
#pragma once

#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "engine/catalog/table.h"

namespace rowan {

struct StoredStatistics {
  Table::Statistics table;
  Cardinalities::RowsPerKey rows_per_key;
  std::vector<TreeStatistics> trees;  ///< empty when an earlier version stored them

  /// False: the table has other indexes, so they do not apply.
  bool PublishIn(Table* target) &&;
};

std::string EncodeStatistics(Table* table);
/// kCorrupt, kNewerFormat.
Result<StoredStatistics> DecodeStatistics(Bytes row);

}  // namespace rowan
