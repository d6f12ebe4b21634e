// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/handler/ha_rowan.h"

#include <cerrno>

#include <algorithm>
#include <utility>

#include "sql/dd/properties.h"
#include "sql/dd/types/table.h"
#include "sql/sql_class.h"

#include "base/logging.h"
#include "engine/catalog/limits.h"
#include "plugin/handler/discarded_table.h"
#include "plugin/handler/foreign_keys.h"
#include "plugin/server/error_map.h"
#include "plugin/server/instance.h"

namespace rowan {
namespace {

constexpr handler::Table_flags kTableFlags =
    HA_NULL_IN_KEY | HA_CAN_INDEX_BLOBS | HA_CAN_SQL_HANDLER | HA_PRIMARY_KEY_IN_READ_INDEX |
    HA_PRIMARY_KEY_REQUIRED_FOR_POSITION | HA_PARTIAL_COLUMN_READ | HA_TABLE_SCAN_ON_INDEX |
    HA_BINLOG_ROW_CAPABLE | HA_NO_READ_LOCAL_LOCK | HA_GENERATED_COLUMNS | HA_DESCENDING_INDEX |
    HA_CAN_GEOMETRY | HA_CAN_RTREEKEYS | HA_SUPPORTS_GEOGRAPHIC_GEOMETRY_COLUMN |
    HA_CAN_INDEX_VIRTUAL_GENERATED_COLUMN | HA_MULTI_VALUED_KEY_SUPPORT | HA_CAN_FULLTEXT |
    HA_CAN_FULLTEXT_EXT | HA_CAN_FULLTEXT_HINTS | HA_SUPPORTS_DEFAULT_EXPRESSION |
    HA_ATTACHABLE_TRX_COMPATIBLE | HA_CAN_EXPORT | HA_BLOB_PARTIAL_UPDATE;

/// Whether statements give the same rows when they are run again in the order of their commits:
/// where their reads lock what they read, gaps included.
bool StatementsCanBeReplayed(const THD* thd) {
  return thd != nullptr && thd_tx_isolation(thd) > ISO_READ_COMMITTED;
}

/// The server's key length limit, or less when a small page cannot hold such a key.
uint KeyLengthMax() {
  if (g_engine == nullptr) return MAX_KEY_LENGTH;
  const size_t fits = KeyBytesMax(g_engine->options().storage.page_size_bytes);
  return static_cast<uint>(std::min<size_t>(MAX_KEY_LENGTH, fits));
}

/// STATS_SAMPLE_PAGES, STATS_AUTO_RECALC and STATS_PERSISTENT of the table.
Cardinalities::Settings StatisticsSettings(const TABLE_SHARE& share) {
  Cardinalities::Settings settings;
  settings.chosen = share.stats_sample_pages != 0;
  if (settings.chosen) settings.sample_leaves = share.stats_sample_pages;
  settings.automatic = share.stats_auto_recalc != HA_STATS_AUTO_RECALC_OFF;
  settings.persistent = (share.db_create_options & HA_OPTION_NO_STATS_PERSISTENT) == 0;
  return settings;
}

/// The server's definition is the one that the table was made by.
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

/// The optimizer is kept from indexes whose keys an early version put together in another order
/// than the one in which it would search them. REQUIRES: LOCK_ha_data, the share is just opened.
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

ha_rowan::ha_rowan(handlerton* hton, TABLE_SHARE* table_share_arg)
    : handler(hton, table_share_arg), sorted_ranges_(this) {}

ha_rowan::~ha_rowan() = default;

handler::Table_flags ha_rowan::table_flags() const {
  Table_flags flags = kTableFlags;
  if (part_->share() != nullptr && is_temporary()) flags &= ~HA_CAN_EXPORT;
  // No other session changes a temporary table.
  if ((part_->share() != nullptr && is_temporary()) || StatementsCanBeReplayed(ha_thd())) {
    flags |= HA_BINLOG_STMT_CAPABLE;
  }
  // Unique keys are checked clustered index first: not in the server's order when that is not key
  // 0.
  if (part_->share() != nullptr && codec().has_primary_key() && codec().KeyOfIndexNumber(0) != 0) {
    flags |= HA_DUPLICATE_KEY_NOT_IN_ORDER;
  }
  return flags;
}

ulong ha_rowan::index_flags(uint index, uint, bool) const {
  if (table_share != nullptr && (table_share->key_info[index].flags & HA_SPATIAL) != 0) {
    // Of these the server takes reading forwards; it knows itself that the others say nothing here.
    return HA_READ_NEXT | HA_READ_ORDER | HA_READ_RANGE | HA_KEYREAD_ONLY | HA_KEY_SCAN_NOT_ROR;
  }
  ulong flags = HA_READ_NEXT | HA_READ_PREV | HA_READ_ORDER | HA_READ_RANGE | HA_KEYREAD_ONLY;
  if (table_share == nullptr || index != table_share->primary_key) {
    flags |= HA_DO_INDEX_COND_PUSHDOWN;
  }
  if (table_share != nullptr && (table_share->key_info[index].flags & HA_FULLTEXT) != 0) return 0;
  // A row comes once for each value, and no entry has the column.
  if (table_share != nullptr && (table_share->key_info[index].flags & HA_MULTI_VALUED_KEY) != 0) {
    flags &= ~static_cast<ulong>(HA_READ_ORDER | HA_KEYREAD_ONLY);
  }
  return flags;
}

uint ha_rowan::max_supported_key_length() const { return KeyLengthMax(); }

uint ha_rowan::max_supported_key_part_length(HA_CREATE_INFO*) const { return KeyLengthMax(); }

bool ha_rowan::get_error_message(int error, String* message) {
  const std::string text = ErrorText(error);
  if (!text.empty()) message->append(text.c_str(), text.size());
  return false;
}

int ha_rowan::Fail(Status status) { return HandlerError(ha_thd(), status); }

int ha_rowan::open(const char* name, int, uint, const dd::Table* table_def) {
  lock_shared_ha_data();
  own_part_ = TablePart(static_cast<TableShare*>(get_ha_share_ptr()));
  Status status;
  if (part_->share() == nullptr) status = OpenShare(table_def);
  unlock_shared_ha_data();
  if (!status.ok()) return FailOpen(name, status);
  PrepareBuffers();
  // A scan of the table walks the primary key: an UPDATE that changes it collects its rows first.
  key_used_on_scan = table->s->primary_key;
  return info(HA_STATUS_NO_LOCK | HA_STATUS_VARIABLE | HA_STATUS_CONST);
}

int ha_rowan::FailOpen(const char* name, Status status) {
  LogError("Table '{}' cannot be opened: {}.", name, status.message());
  if (status.Is(Code::kNotFound)) return HA_ERR_NO_SUCH_TABLE;
  if (status.Is(Code::kIoError) && status.detail() == ENOENT) return HA_ERR_TABLESPACE_MISSING;
  return status.Is(Code::kTableChanged) ? HA_ERR_TABLE_DEF_CHANGED : Fail(status);
}

Status ha_rowan::OpenShare(const dd::Table* table_def) {
  if (table_def == nullptr) return Status(Code::kNotFound, "it has no definition");
  Result<std::unique_ptr<TableShare>> share = MakeShare(TableId(table_def->se_private_id()));
  if (!share.ok()) return share.status();
  (*share)->SetDiscarded(IsDiscarded(table_def->se_private_data()));
  own_part_ = TablePart(share->release());
  set_ha_share_ptr(own_part_.share());
  return Status::Ok();
}

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

Result<std::unique_ptr<TableShare>> ha_rowan::MakeShare(TableId id) const {
  Result<std::shared_ptr<Table>> opened = g_engine->OpenTable(id);
  if (!opened.ok()) return opened.status();
  Result<std::unique_ptr<TableShare>> share = ShareOf(table, std::move(opened).value());
  if (!share.ok()) return share;
  const Status found = FindAutoIncrement(**share);
  if (!found.ok() && !(*share)->table()->readable.load(std::memory_order_relaxed)) return found;
  return share;
}

void ha_rowan::PrepareBuffers() {
  part_->MakeReader(table);
  const bool has_primary_key = codec().has_primary_key();
  row_reference_bytes_ = has_primary_key ? table->key_info[codec().KeyOfIndexNumber(0)].key_length
                                         : static_cast<uint>(sizeof(uint64_t));
  ref_length = row_reference_bytes_;
  changed_indexes_.assign(engine_table()->index_count(), true);
  stats.block_size = g_engine->options().storage.page_size_bytes;
  cascades_may_return_ = CascadesMayReturn(*table_share);
}

int ha_rowan::close() {
  if (reader() != nullptr) reader()->PublishCounts();
  stored_reader_.reset();
  const TablePart closed = std::exchange(own_part_, TablePart());
  return 0;
}

handler* ha_rowan::clone(const char* name, MEM_ROOT* mem_root) {
  handler* copy = handler::clone(name, mem_root);
  if (copy != nullptr) {
    auto* other = static_cast<ha_rowan*>(copy);
    other->lock_type_ = lock_type_;
    other->read_options_ = read_options_;
  }
  return copy;
}

}  // namespace rowan
