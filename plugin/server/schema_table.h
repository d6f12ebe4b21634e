// SPDX-License-Identifier: GPL-2.0-only
// Building blocks of the INFORMATION_SCHEMA tables: columns, and rows that are stored column by
// column. Thread safety: a row belongs to one session.
#pragma once

#include <string>

#include "sql/table.h"

namespace rowan {

ST_FIELD_INFO NumberColumn(const char* name);
ST_FIELD_INFO NullableNumberColumn(const char* name);
ST_FIELD_INFO FractionColumn(const char* name);
/// `characters_max`: longer values are cut.
ST_FIELD_INFO TextColumn(const char* name, uint characters_max);
ST_FIELD_INFO NullableTextColumn(const char* name, uint characters_max);
/// In seconds; null if 0.
ST_FIELD_INFO TimeColumn(const char* name);
/// Ends the columns of a table.
ST_FIELD_INFO LastColumn();

inline constexpr uint kNameCharactersMax = 64;
/// "schema/table#p#part#sp#subpart" in file name spelling.
inline constexpr uint kTableNameCharactersMax = 4 * kNameCharactersMax;

/// Whether the session may see what others do: it has the PROCESS privilege, and the engine is open
/// and stays so until the statement has ended.
bool MayLook(THD* thd);

/// The rows of a table one by one, each filled from its first column on.
class SchemaRows {
 public:
  SchemaRows(THD* thd, TABLE* table) : thd_(thd), table_(table) {}
  SchemaRows& Number(uint64_t value);
  SchemaRows& NumberOrNull(uint64_t value, bool known);
  SchemaRows& Fraction(double value);
  SchemaRows& Text(const std::string& text);
  SchemaRows& TextOrNull(const std::string& text);  ///< null: empty
  SchemaRows& YesOrNo(bool value) { return Text(value ? "YES" : "NO"); }
  SchemaRows& Time(int64_t seconds);
  /// The row is complete. True: the statement must end.
  [[nodiscard]] bool Store();

 private:
  Field* Next() { return table_->field[column_++]; }

  THD* const thd_;
  TABLE* const table_;
  int column_ = 0;
};

/// For the initialisation of a table's plugin.
int DescribeSchemaTable(void* schema_table, ST_FIELD_INFO* columns,
                        int (*fill)(THD*, Table_ref*, Item*));

}  // namespace rowan
