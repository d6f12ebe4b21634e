// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/handler/ha_rowan.h"

#include <algorithm>
#include <utility>

#include "sql/dd/properties.h"
#include "sql/dd/types/table.h"
#include "sql/sql_class.h"

#include "engine/catalog/limits.h"
#include "plugin/handler/discarded_table.h"
#include "plugin/handler/key_bounds.h"
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

/// Whether rerunning statements in commit order gives the same rows: if their reads lock what they
/// read, gaps included.
bool StatementsCanBeReplayed(const THD* thd) {
  return thd != nullptr && thd_tx_isolation(thd) > ISO_READ_COMMITTED;
}

/// The server's key length limit, or less when a small page cannot hold such a key.
uint KeyLengthMax() {
  if (g_engine == nullptr) return MAX_KEY_LENGTH;
  const size_t fits = KeyBytesMax(g_engine->options().storage.page_size_bytes);
  return static_cast<uint>(std::min<size_t>(MAX_KEY_LENGTH, fits));
}

}  // namespace

ha_rowan::ha_rowan(handlerton* hton, TABLE_SHARE* table_share_arg)
    : handler(hton, table_share_arg) {}

ha_rowan::~ha_rowan() = default;

handler::Table_flags ha_rowan::table_flags() const {
  Table_flags flags = kTableFlags;
  const bool has_share = part_->share() != nullptr;
  const bool is_temporary = has_share && part_->is_temporary();
  if (is_temporary) flags &= ~HA_CAN_EXPORT;
  // No other session changes a temporary table.
  if (is_temporary || StatementsCanBeReplayed(ha_thd())) flags |= HA_BINLOG_STMT_CAPABLE;
  // Unique keys are checked clustered index first: not the server's order unless that is key 0.
  if (has_share && codec().has_primary_key() && codec().KeyOfIndexNumber(0) != 0) {
    flags |= HA_DUPLICATE_KEY_NOT_IN_ORDER;
  }
  return flags;
}

ulong ha_rowan::index_flags(uint index, uint, bool) const {
  constexpr ulong kUsual =
      HA_READ_NEXT | HA_READ_PREV | HA_READ_ORDER | HA_READ_RANGE | HA_KEYREAD_ONLY;
  if (table_share == nullptr) return kUsual | HA_DO_INDEX_COND_PUSHDOWN;
  const ulong kind = table_share->key_info[index].flags;  // asked for each range of a list
  const ulong usual =
      index == table_share->primary_key ? kUsual : kUsual | HA_DO_INDEX_COND_PUSHDOWN;
  if ((kind & (HA_SPATIAL | HA_FULLTEXT | HA_MULTI_VALUED_KEY)) == 0) return usual;
  if ((kind & HA_SPATIAL) != 0) {
    // Of these the server uses forward reading; it knows that the others do not apply here.
    return HA_READ_NEXT | HA_READ_ORDER | HA_READ_RANGE | HA_KEYREAD_ONLY | HA_KEY_SCAN_NOT_ROR;
  }
  if ((kind & HA_FULLTEXT) != 0) return 0;
  // A row is returned once for each value, and no entry has the column.
  return usual & ~static_cast<ulong>(HA_READ_ORDER | HA_KEYREAD_ONLY);
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
  own_part_ = TablePart(table, static_cast<TableShare*>(get_ha_share_ptr()));
  Status status;
  if (part_->share() == nullptr) status = MakeShare(table_def);
  unlock_shared_ha_data();
  if (!status.ok()) return FailOpen(ha_thd(), name, status);
  PrepareBuffers();
  return info(HA_STATUS_NO_LOCK | HA_STATUS_VARIABLE | HA_STATUS_CONST);
}

Status ha_rowan::MakeShare(const dd::Table* table_def) {
  if (table_def == nullptr) return Status(Code::kNotFound, "it has no definition");
  Result<std::unique_ptr<TableShare>> share = OpenShare(table, TableId(table_def->se_private_id()));
  if (!share.ok()) return share.status();
  (*share)->SetDiscarded(IsDiscarded(table_def->se_private_data()));
  own_part_ = TablePart(table, share->release());
  set_ha_share_ptr(own_part_.share());
  return Status::Ok();
}

void ha_rowan::PrepareBuffers() {
  part_->MakeReader();
  ref_length = ReferenceBytes(*part_);
  // A scan of the table walks the primary key: an UPDATE that changes it collects its rows first.
  key_used_on_scan = table->s->primary_key;
  changed_indexes_.assign(engine_table()->index_count(), false);
  stats.block_size = g_engine->options().storage.page_size_bytes;
}

int ha_rowan::close() {
  if (reader() != nullptr) reader()->PublishCounts();
  const TablePart closed = std::exchange(own_part_, TablePart());
  return 0;
}

handler* ha_rowan::clone(const char* name, MEM_ROOT* mem_root) {
  handler* copy = handler::clone(name, mem_root);
  if (copy != nullptr) {
    auto* other = static_cast<ha_rowan*>(copy);
    other->lock_type_ = lock_type_;
    other->read_options_ = read_options_;
    last_clone_ = other;
  }
  return copy;
}

}  // namespace rowan
