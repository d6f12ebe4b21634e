// SPDX-License-Identifier: GPL-2.0-only
// The description of a server table for the engine's catalog. Thread safety: the session's thread.
#pragma once

#include <string>

#include "sql/dd/object_id.h"

#include "engine/catalog/table_def.h"
#include "plugin/codec/table_codec.h"

struct HA_CREATE_INFO;
struct TABLE;
class THD;

namespace rowan {

/// As many as in InnoDB, so that tables can move either way.
inline constexpr uint32_t kColumnsMax = 1017;

/// Ids and roots stay unset; indexes in the order of the codec's index numbers.
TableDef DescribeTable(const TABLE* form, const TableCodec& codec, const std::string& name);

/// "./db/table" as the server passes it -> "db/table".
std::string CatalogName(const char* path);

/// The value the new table's counter starts with; 0 = from the beginning.
uint64_t FirstAutoIncrement(THD* thd, const HA_CREATE_INFO& info);

/// The engine's definition for the server's. 0, or the handler error, raised. `former`: the
/// engine's table that TRUNCATE replaces, whose words FULLTEXT indexes keep.
int DescribeNewTable(THD* thd, TABLE* form, const HA_CREATE_INFO& info, const std::string& name,
                     TableDef* definition, dd::Object_id former = dd::INVALID_OBJECT_ID);

}  // namespace rowan
