// SPDX-License-Identifier: GPL-2.0-only
// TableFigures: what operators and the optimizer see of a table without opening it: names, place
// and size as of the last time its statistics were counted. Thread safety: plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "engine/catalog/table.h"

namespace rowan {

struct IndexFigures {
  IndexId id;
  std::string name;
  bool clustered = false;
  bool unique = false;
  PageNumber root = kNoPage;
  /// Estimates, exact for a small index; without delete-marked entries. No leaf pages: unknown.
  TreeStatistics tree;
  /// From the visibility map; empty for a table that is not open, or an index of one leaf.
  LeafMap::Summary visibility{};
  InsertCounts inserts{};           ///< since the table was opened; 0 unless open
  std::vector<float> rows_per_key;  ///< by number of leading parts - 1; empty: unknown
};

struct TableFigures {
  TableId id{};
  SpaceId space{};
  std::string name;      ///< "schema/table" in file name spelling
  bool open = false;     ///< else all is as of the last run, or unknown
  bool counted = false;  ///< it has statistics
  Table::Statistics statistics{};
  uint64_t changes = 0;         ///< row changes since they were counted, 0 unless open
  uint64_t auto_increment = 0;  ///< next value; 0 unless open
  int64_t update_time = 0;      ///< seconds since the epoch; 0: not in this run
  uint64_t note = 0;            ///< Engine::NoteOnTable; 0: none
  std::vector<IndexFigures> indexes{};
};

}  // namespace rowan
