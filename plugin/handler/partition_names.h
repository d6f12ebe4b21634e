// SPDX-License-Identifier: GPL-2.0-only
// Names of the engine tables of a partitioned table: "schema/table#p#part" or
// "schema/table#p#part#sp#subpart", in file name spelling and lower case. No name of a table
// contains '#p#' itself, because file names spell '#' otherwise. Thread safety: pure functions.
#pragma once

#include <string>

namespace dd {
class Partition;
}

namespace rowan {

/// `table_name`: the catalog's name for the partitioned table. `leaf`: one that holds rows.
std::string PartitionTableName(const std::string& table_name, const dd::Partition& leaf);

/// The name of the table that the engine table is a part of; other names unchanged.
std::string NameWithoutPartition(const std::string& name);

/// "p0", or "p0, subpartition s0", in lower case but as users spell it; empty for a plain table.
std::string PartitionInName(const std::string& name);

}  // namespace rowan
