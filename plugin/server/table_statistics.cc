// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/server/table_statistics.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

#include "my_sys.h"
#include "mysqld_error.h"
#include "sql/current_thd.h"
#include "sql/dd/cache/dictionary_client.h"
#include "sql/dd/properties.h"
#include "sql/dd/types/column.h"
#include "sql/dd/types/table.h"
#include "sql/handler.h"
#include "sql/mysqld_cs.h"
#include "sql/sql_class.h"
#include "sql/table.h"

#include "engine/engine.h"
#include "plugin/codec/key_part_codec.h"
#include "plugin/codec/table_codec.h"
#include "plugin/server/instance.h"

namespace rowan {
namespace {

/// Property in a table's private data in the dictionary: 0, or where the counter's largest value
/// is, as AutoIncrementPlace::Packed.
constexpr const char* kAutoIncrementPlace = "auto_increment";
/// The server shows NULL.
constexpr ulonglong kUnknown = ~ulonglong{0};

bool NoSuchTable(const char* schema, const char* table) {
  my_error(ER_NO_SUCH_TABLE, MYF(0), schema, table);
  return true;
}

/// The index whose first part the counter numbers, and how that part is stored: so the largest
/// value is found in the tree without the server's definition of the table.
struct AutoIncrementPlace {
  uint32_t index_number = 0;
  KeyPartCodec part;

  [[nodiscard]] uint32_t Packed() const {
    const uint32_t is_unsigned = part.encoding == KeyEncoding::kUnsigned ? 2 : 0;
    return index_number << 8 | part.length << 2 | is_unsigned | (part.descending ? 1 : 0);
  }
  static AutoIncrementPlace Unpack(uint32_t packed) {
    AutoIncrementPlace place;
    place.index_number = packed >> 8;
    place.part.encoding = (packed & 2) != 0 ? KeyEncoding::kUnsigned : KeyEncoding::kSigned;
    place.part.length = (packed & 0xFF) >> 2;
    place.part.descending = (packed & 1) != 0;
    return place;
  }
  /// Of the column's type.
  [[nodiscard]] uint64_t Most() const {
    const uint32_t bits = 8 * part.length - (part.encoding == KeyEncoding::kUnsigned ? 0 : 1);
    return bits >= 64 ? UINT64_MAX : (uint64_t{1} << bits) - 1;
  }
};

/// Counts the rows of one that was never counted: new, or the server crashed right after it came.
Status CountNow(TableFigures* figures) {
  Result<std::shared_ptr<Table>> opened = g_engine->OpenTable(figures->id);
  if (!opened.ok()) return opened.status();
  const Status counted = g_engine->RefreshStatistics(opened->get());
  if (counted.ok()) figures->statistics = (*opened)->statistics();
  return counted;
}

/// Opens the table in the engine, as its first user would, and counts on from its largest value. 0
/// when that cannot be read.
uint64_t OpenCounter(TableId id, const AutoIncrementPlace& place) {
  Result<std::shared_ptr<Table>> opened = g_engine->OpenTable(id);
  if (!opened.ok() || place.index_number >= (*opened)->index_count()) return 0;
  Table* table = opened->get();
  const IndexEdge edge = place.part.descending ? IndexEdge::kFirst : IndexEdge::kLast;
  ByteBuffer key;
  const Status status = table->EdgeKey(place.index_number, edge, &key);
  if (status.Is(Code::kEndOfRange)) return table->auto_increment();
  uint64_t value = 0;
  const size_t size = status.ok() ? place.part.Size(key) : 0;
  if (size == 0 || !place.part.DecodeNumber(Bytes(key).first(size), &value)) return 0;
  table->RaiseAutoIncrement(value < place.Most() ? value + 1 : place.Most());
  return table->auto_increment();
}

/// Notes on tables: 0 is none, these are not AutoIncrementPlace::Packed, which has a length.
constexpr uint64_t kHasNoCounter = 1;
constexpr uint64_t kPlaceUnknown = 2;

/// What the dictionary knows of the counter. The server hands its private data over for some
/// columns of TABLES only, and asks once for all.
uint64_t LookUpCounter(const char* schema, const char* table) {
  dd::cache::Dictionary_client* client = current_thd->dd_client();
  const dd::cache::Dictionary_client::Auto_releaser releaser(client);
  const dd::Table* definition = nullptr;
  if (client->acquire(schema, table, &definition) || definition == nullptr) return kHasNoCounter;
  const dd::Properties& remembered = definition->se_private_data();
  uint32_t packed = 0;
  if (remembered.exists(kAutoIncrementPlace) && !remembered.get(kAutoIncrementPlace, &packed)) {
    return packed == 0 ? kHasNoCounter : packed;
  }
  // A table that an earlier version of this plugin made.
  const bool has =
      std::any_of(definition->columns().begin(), definition->columns().end(),
                  [](const dd::Column* column) { return column->is_auto_increment(); });
  return has ? kPlaceUnknown : kHasNoCounter;
}

/// 0: there is none.
uint64_t CounterOf(const char* schema, const char* table, const TableFigures& figures) {
  uint64_t note = figures.note;
  if (note == 0) {
    note = LookUpCounter(schema, table);
    g_engine->NoteOnTable(figures.id, note);
  }
  if (note == kHasNoCounter) return 0;
  if (figures.open) return figures.auto_increment;
  if (note != kPlaceUnknown) {
    return OpenCounter(figures.id, AutoIncrementPlace::Unpack(static_cast<uint32_t>(note)));
  }
  // After a crash it is known again when the table is used.
  Result<std::shared_ptr<Table>> opened = g_engine->OpenTable(figures.id);
  return opened.ok() ? (*opened)->auto_increment() : 0;
}

bool GetTableStatistics(const char* schema, const char* table, dd::Object_id id,
                        const dd::Properties&, const dd::Properties&, uint, ha_statistics* stats) {
  Result<TableFigures> figures = g_engine->FiguresOf(TableId(id));
  if (!figures.ok()) return NoSuchTable(schema, table);
  if (!figures->counted && !CountNow(&*figures).ok()) return NoSuchTable(schema, table);
  FillStatistics(figures->statistics, stats);
  stats->update_time = figures->update_time;
  stats->auto_increment_value = CounterOf(schema, table, *figures);
  return false;
}

bool GetCardinality(const char* schema, const char* table, const char* index_name, uint,
                    uint column, dd::Object_id id, ulonglong* cardinality) {
  Result<TableFigures> figures = g_engine->FiguresOf(TableId(id));
  if (!figures.ok()) return NoSuchTable(schema, table);
  *cardinality = figures->statistics.rows == 0 ? 0 : kUnknown;  // no row, no value
  const auto found = std::find_if(
      figures->indexes.begin(), figures->indexes.end(), [index_name](const IndexFigures& index) {
        return my_strcasecmp(system_charset_info, index.name.c_str(), index_name) == 0;
      });
  if (found == figures->indexes.end()) return false;
  const std::vector<float>& rows_per_key = found->rows_per_key;
  if (column >= rows_per_key.size()) return false;
  const double rows = static_cast<double>(figures->statistics.rows);
  *cardinality = static_cast<ulonglong>(std::llround(rows / rows_per_key[column]));
  return false;
}

}  // namespace

void FillStatistics(const Table::Statistics& now, ha_statistics* stats) {
  const uint64_t page = g_engine->options().storage.page_size_bytes;
  stats->records = now.rows;
  stats->data_file_length = std::max<uint64_t>(now.clustered_pages, 1) * page;
  stats->index_file_length = now.secondary_pages * page;
  const uint64_t unused = now.file_pages > now.used_pages ? now.file_pages - now.used_pages : 0;
  // In whole extents of 1 MiB, as InnoDB counts: the few pages that a file keeps ready are in use.
  constexpr uint64_t kExtentBytes = uint64_t{1} << 20;
  stats->delete_length = unused * page / kExtentBytes * kExtentBytes;
  stats->mean_rec_length =
      now.rows == 0 ? 0 : static_cast<ulong>(now.clustered_pages * page / now.rows);
}

void RememberForStatistics(const TABLE& table, dd::Table* definition) {
  uint32_t packed = 0;
  std::string refusal;
  Result<std::unique_ptr<TableCodec>> codec =
      TableCodec::Make(&table, g_engine->options().storage.page_size_bytes, &refusal);
  if (table.s->found_next_number_field != nullptr && codec.ok()) {
    AutoIncrementPlace place;
    place.index_number = (*codec)->IndexNumberOfKey(table.s->next_number_index);
    place.part = (*codec)->FirstPart(place.index_number);
    packed = place.Packed();
  }
  definition->se_private_data().set(kAutoIncrementPlace, packed);
  g_engine->NoteOnTable(TableId(definition->se_private_id()),
                        0);  // others may have seen the former value
}

void SetStatisticsHooks(handlerton* hton) {
  hton->get_table_statistics = GetTableStatistics;
  hton->get_index_column_cardinality = GetCardinality;
}

}  // namespace rowan
