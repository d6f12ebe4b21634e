// SPDX-License-Identifier: GPL-2.0-only
// ROWAN_TABLES and ROWAN_INDEXES: all tables and indexes with their sizes, including tables that
// are not open. The sizes come from the statistics: no page is read for them. ROWAN_BUFFER_POOL:
// how much of each is in memory.
#include "plugin/server/abi_guard.h"

#include <string>

#include "sql/sql_class.h"
#include "sql/sql_table.h"
#include "sql/table.h"

#include "engine/engine.h"
#include "plugin/server/information_schema.h"
#include "plugin/server/instance.h"
#include "plugin/server/schema_table.h"

namespace rowan {
namespace {

constexpr const char* kPartitionMark = "#p#";

/// As SQL spells it.
std::string Decoded(const std::string& file_name) {
  char name[NAME_LEN + 1];
  const size_t bytes = filename_to_tablename(file_name.c_str(), name, sizeof(name));
  return {name, bytes};
}

/// Schema, table and partition, as INFORMATION_SCHEMA.PARTITIONS has them; a subpartition after its
/// partition and a slash.
struct Names {
  explicit Names(const std::string& name) {
    const size_t slash = name.find('/');
    if (slash == std::string::npos) return;
    const size_t part = name.find(kPartitionMark);
    schema = Decoded(name.substr(0, slash));
    table = Decoded(name.substr(slash + 1, part == std::string::npos ? part : part - slash - 1));
    if (part == std::string::npos) return;
    const size_t begin = part + 3;
    const size_t sub = name.find("#sp#", begin);
    partition = Decoded(name.substr(begin, sub == std::string::npos ? sub : sub - begin));
    if (sub != std::string::npos) partition += "/" + Decoded(name.substr(sub + 4));
  }
  std::string schema;
  std::string table;
  std::string partition;
};

std::string FileOf(SpaceId space) { return "space_" + std::to_string(space.value()) + ".rws"; }

const char* TypeOf(const IndexFigures& index) {
  if (index.clustered) return "CLUSTERED";
  return index.unique ? "UNIQUE" : "SECONDARY";
}

// The columns of a table come first in both.
void AddNames(const TableFigures& figures, SchemaRows* rows) {
  const Names names(figures.name);
  rows->Number(figures.id.value()).Text(names.schema).Text(names.table);
  rows->TextOrNull(names.partition).Number(figures.space.value()).Text(FileOf(figures.space));
}

ST_FIELD_INFO g_tables_columns[] = {NumberColumn("TABLE_ID"),
                                    TextColumn("TABLE_SCHEMA", kNameCharactersMax),
                                    TextColumn("TABLE_NAME", kNameCharactersMax),
                                    NullableTextColumn("PARTITION_NAME", 2 * kNameCharactersMax),
                                    NumberColumn("SPACE"),
                                    TextColumn("FILE_NAME", kNameCharactersMax),
                                    TextColumn("IS_OPEN", 4),
                                    NumberColumn("INDEXES"),
                                    NullableNumberColumn("TABLE_ROWS"),
                                    NullableNumberColumn("CLUSTERED_PAGES"),
                                    NullableNumberColumn("SECONDARY_PAGES"),
                                    NullableNumberColumn("FILE_PAGES"),
                                    NullableNumberColumn("USED_PAGES"),
                                    NullableNumberColumn("ROW_CHANGES"),
                                    NullableNumberColumn("AUTO_INCREMENT"),
                                    TimeColumn("UPDATE_TIME"),
                                    LastColumn()};

bool StoreTable(const TableFigures& figures, SchemaRows* rows) {
  const Table::Statistics& counted = figures.statistics;
  AddNames(figures, rows);
  rows->YesOrNo(figures.open).Number(figures.indexes.size());
  rows->NumberOrNull(counted.rows, figures.counted || figures.open);
  for (const uint64_t pages :
       {counted.clustered_pages, counted.secondary_pages, counted.file_pages, counted.used_pages}) {
    rows->NumberOrNull(pages, figures.counted);
  }
  rows->NumberOrNull(figures.changes, figures.open);
  rows->NumberOrNull(figures.auto_increment, figures.open).Time(figures.update_time);
  return rows->Store();
}

ST_FIELD_INFO g_indexes_columns[] = {NumberColumn("TABLE_ID"),
                                     TextColumn("TABLE_SCHEMA", kNameCharactersMax),
                                     TextColumn("TABLE_NAME", kNameCharactersMax),
                                     NullableTextColumn("PARTITION_NAME", 2 * kNameCharactersMax),
                                     NumberColumn("SPACE"),
                                     TextColumn("FILE_NAME", kNameCharactersMax),
                                     NumberColumn("INDEX_ID"),
                                     TextColumn("INDEX_NAME", kNameCharactersMax),
                                     TextColumn("INDEX_TYPE", 16),
                                     NumberColumn("ROOT_PAGE"),
                                     NullableNumberColumn("HEIGHT"),
                                     NullableNumberColumn("LEAF_PAGES"),
                                     NullableNumberColumn("INNER_PAGES"),
                                     NullableNumberColumn("SIZE_BYTES"),
                                     NullableNumberColumn("ENTRIES"),
                                     NullableNumberColumn("INSERTS_ASCENDING"),
                                     NullableNumberColumn("INSERTS_DESCENDING"),
                                     NullableNumberColumn("INSERTS_LEFT"),
                                     NullableNumberColumn("INSERTS_RIGHT"),
                                     NullableNumberColumn("INSERTS_ELSEWHERE"),
                                     NullableNumberColumn("INSERTS_UNKNOWN"),
                                     NullableNumberColumn("MAPPED_LEAVES"),
                                     NullableNumberColumn("ALL_VISIBLE_LEAVES"),
                                     LastColumn()};

constexpr InsertPlace kShownPlaces[] = {InsertPlace::kAscending, InsertPlace::kDescending,
                                        InsertPlace::kLeft,      InsertPlace::kRight,
                                        InsertPlace::kElsewhere, InsertPlace::kUnknown};

bool StoreIndexes(const TableFigures& figures, SchemaRows* rows) {
  const uint64_t page_bytes = g_engine->options().storage.page_size_bytes;
  for (const IndexFigures& index : figures.indexes) {
    const TreeStatistics& tree = index.tree;
    const bool counted = tree.leaf_pages > 0;
    AddNames(figures, rows);
    rows->Number(index.id.value()).Text(index.name).Text(TypeOf(index));
    rows->Number(index.root.value()).NumberOrNull(tree.levels, counted);
    rows->NumberOrNull(tree.leaf_pages, counted).NumberOrNull(tree.inner_pages, counted);
    rows->NumberOrNull((tree.leaf_pages + tree.inner_pages) * page_bytes, counted);
    rows->NumberOrNull(tree.entries, counted);
    for (const InsertPlace place : kShownPlaces) {
      rows->NumberOrNull(index.inserts.Of(place), figures.open);
    }
    rows->NumberOrNull(index.visibility.known, figures.open);
    rows->NumberOrNull(index.visibility.all_visible, figures.open);
    if (rows->Store()) return true;
  }
  return false;
}

/// Of all tables, until the session is killed.
int FillFromTables(THD* thd, Table_ref* tables,
                   bool (*store)(const TableFigures& figures, SchemaRows* rows)) {
  if (!MayLook(thd)) return 0;
  SchemaRows rows(thd, tables->table);
  for (const TableId id : g_engine->ListTableIds()) {
    if (thd->killed) return 1;
    Result<TableFigures> figures = g_engine->FiguresOf(id);
    if (figures.ok() && store(figures.value(), &rows)) return 1;  // else it was dropped
  }
  return 0;
}

int FillTables(THD* thd, Table_ref* tables, Item*) {
  return FillFromTables(thd, tables, StoreTable);
}
int FillIndexes(THD* thd, Table_ref* tables, Item*) {
  return FillFromTables(thd, tables, StoreIndexes);
}

ST_FIELD_INFO g_pool_columns[] = {NumberColumn("SPACE"),
                                  TextColumn("SPACE_TYPE", 16),
                                  NullableTextColumn("TABLE_SCHEMA", kNameCharactersMax),
                                  NullableTextColumn("TABLE_NAME", kNameCharactersMax),
                                  NullableTextColumn("PARTITION_NAME", 2 * kNameCharactersMax),
                                  NumberColumn("PAGES"),
                                  NumberColumn("DIRTY_PAGES"),
                                  NumberColumn("BYTES"),
                                  NullableNumberColumn("FILE_PAGES"),
                                  LastColumn()};

const char* TypeOf(SpaceId space) {
  if (space == kSystemSpace) return "SYSTEM";
  if (space == kUndoSpace) return "UNDO";
  return IsTemporary(space) ? "TEMPORARY" : "TABLE";
}

bool StoreSpace(SpaceId space, const SpacePages& pages, const TableFigures* table,
                SchemaRows* rows) {
  const Names names(table == nullptr ? "" : table->name);
  rows->Number(space.value()).Text(TypeOf(space));
  rows->TextOrNull(names.schema).TextOrNull(names.table).TextOrNull(names.partition);
  rows->Number(pages.pages).Number(pages.dirty);
  rows->Number(pages.pages * g_engine->options().storage.page_size_bytes);
  const bool counted = table != nullptr && table->counted;
  rows->NumberOrNull(counted ? table->statistics.file_pages : 0, counted);
  return rows->Store();
}

int FillBufferPool(THD* thd, Table_ref* tables, Item*) {
  if (!MayLook(thd)) return 0;
  SchemaRows rows(thd, tables->table);
  PoolPages spaces = g_engine->PoolPagesBySpace();
  for (const TableId id : g_engine->ListTableIds()) {
    if (thd->killed) return 1;
    Result<TableFigures> figures = g_engine->FiguresOf(id);
    if (!figures.ok()) continue;  // dropped
    const auto found = spaces.find(figures->space);
    if (found == spaces.end()) continue;
    if (StoreSpace(found->first, found->second, &*figures, &rows)) return 1;
    spaces.erase(found);
  }
  for (const auto& [space, pages] : spaces) {
    if (StoreSpace(space, pages, nullptr, &rows)) return 1;
  }
  return 0;
}

}  // namespace

int InitializeBufferPoolTable(void* schema_table) {
  return DescribeSchemaTable(schema_table, g_pool_columns, FillBufferPool);
}
int InitializeTablesTable(void* schema_table) {
  return DescribeSchemaTable(schema_table, g_tables_columns, FillTables);
}
int InitializeIndexesTable(void* schema_table) {
  return DescribeSchemaTable(schema_table, g_indexes_columns, FillIndexes);
}

}  // namespace rowan
