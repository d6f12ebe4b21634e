// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/handler/table_share.h"

#include <cerrno>
#include <utility>

#include "sql/table.h"

#include "base/logging.h"
#include "plugin/handler/auto_increment.h"
#include "plugin/server/error_map.h"
#include "plugin/server/instance.h"

namespace rowan {
namespace {

/// STATS_SAMPLE_PAGES, STATS_AUTO_RECALC and STATS_PERSISTENT of the table.
Cardinalities::Settings StatisticsSettings(const TABLE_SHARE& share) {
  Cardinalities::Settings settings;
  settings.chosen = share.stats_sample_pages != 0;
  if (settings.chosen) settings.sample_leaves = share.stats_sample_pages;
  settings.automatic = share.stats_auto_recalc != HA_STATS_AUTO_RECALC_OFF;
  settings.persistent = (share.db_create_options & HA_OPTION_NO_STATS_PERSISTENT) == 0;
  return settings;
}

/// True if the table was created from the server's definition.
bool Agree(const TableDef& definition, TableCodec* made) {
  if (!made->RestoreHistory(definition.descriptor)) return false;
  const TableCodec& codec = *made;
  bool same = true;
  for (uint32_t i = 0; same && i < definition.indexes.size(); ++i) {
    if (!made->RestoreIndex(i, definition.indexes[i].descriptor)) return false;
    same = definition.indexes[i].descriptor == codec.IndexDescriptor(i);
  }
  return same;
}

/// Hides indexes from the optimizer whose keys an early version assembled in an order other than
/// that of its searches. REQUIRES: LOCK_ha_data, the share is just opened.
void LeaveOutUnsearchable(const TABLE& table, const TableDef& definition, const TableCodec& codec) {
  for (uint32_t i = 1; i < definition.indexes.size(); ++i) {
    if (codec.IsSearchable(i)) continue;
    const uint32_t key = codec.KeyOfIndexNumber(i);
    table.s->keys_in_use.clear_bit(key);
    table.s->keys_for_keyread.clear_bit(key);
    LogWarning(
        "Index '{}' of table '{}' was made by an early version of Rowan and is not used "
        "until it is rebuilt: ALTER TABLE ... FORCE.",
        definition.indexes[i].name, definition.name);
  }
}

}  // namespace

Result<std::unique_ptr<TableShare>> ShareOf(TABLE* table, std::shared_ptr<Table> opened) {
  std::string refusal;
  Result<std::unique_ptr<TableCodec>> made =
      TableCodec::Make(table, g_engine->options().storage.page_size_bytes, &refusal);
  if (!made.ok()) {
    LogError("Rowan does not support {}.", refusal);
    return made.status();
  }
  const TableDef& definition = opened->definition();
  if (!Agree(definition, made->get())) {
    made = TableCodec::MakeForFormat1(table, g_engine->options().storage.page_size_bytes, &refusal);
    if (!made.ok() || !Agree(definition, made->get())) {
      return Status(Code::kTableChanged, "the server's definition differs from the stored one");
    }
    LeaveOutUnsearchable(*table, definition, **made);
  }
  return std::make_unique<TableShare>(std::move(opened), std::move(made).value(),
                                      StatisticsSettings(*table->s));
}

Result<std::unique_ptr<TableShare>> OpenShare(TABLE* table, TableId id) {
  Result<std::shared_ptr<Table>> opened = g_engine->OpenTable(id);
  if (!opened.ok()) return opened.status();
  Result<std::unique_ptr<TableShare>> share = ShareOf(table, std::move(opened).value());
  if (!share.ok()) return share;
  const Status found = FindAutoIncrement(*table, **share);
  if (!found.ok() && !(*share)->table()->readable.load(std::memory_order_relaxed)) return found;
  return share;
}

int FailOpen(THD* thd, const char* name, Status status) {
  LogError("Table '{}' cannot be opened: {}.", name, status.message());
  if (status.Is(Code::kNotFound)) return HA_ERR_NO_SUCH_TABLE;
  if (status.Is(Code::kIoError) && status.detail() == ENOENT) return HA_ERR_TABLESPACE_MISSING;
  return status.Is(Code::kTableChanged) ? HA_ERR_TABLE_DEF_CHANGED : HandlerError(thd, status);
}

}  // namespace rowan
