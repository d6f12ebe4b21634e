// SPDX-License-Identifier: GPL-2.0-only
// The copy of ALTER TABLE (and CREATE INDEX, OPTIMIZE): rows go into the new table through a
// BulkLoad, which is begun when the server announces the copy and finished with its bulk insert.
#include "plugin/server/abi_guard.h"

#include "plugin/handler/ha_rowan.h"

#include "my_sys.h"
#include "mysql/plugin.h"
#include "sql/derror.h"
#include "sql/sql_class.h"
#include "sql/sql_lex.h"

#include "engine/bulk_load.h"
#include "plugin/server/error_map.h"
#include "plugin/server/instance.h"
#include "plugin/server/system_variables.h"

namespace rowan {
int ha_rowan::BeginLoad(size_t sort_memory_bytes) {
  if (is_temporary()) return 0;  // nothing to save: its rows are not logged
  Result<bool> possible = BulkLoad::IsPossible(session_, engine_table());
  if (!possible.ok()) return Fail(possible.status());
  load_failed_ = false;
  if (*possible) {
    const BuildLimits limits{.sort_memory_bytes = sort_memory_bytes,
                             .threads = DdlThreads(ha_thd())};
    part_->load = std::make_unique<BulkLoad>(session_, engine_table(), limits);
  }
  return 0;
}

int ha_rowan::end_bulk_insert() {
  if (part_->load == nullptr) return 0;
  const std::unique_ptr<BulkLoad> load = std::move(part_->load);
  if (ha_thd()->is_error()) return 0;  // the statement failed already: the table goes
  Status status = load->Finish();
  if (status.Is(Code::kDuplicate)) {
    const Bytes key = load->duplicate_key();
    search_key_.assign(key.begin(), key.end());
    status = ShowDuplicate(status);
  }
  if (status.ok()) return 0;
  load_failed_ = true;
  const int error = Fail(status);
  set_my_errno(error);
  return error;
}

void ha_rowan::print_error(int error, myf flags) {
  const bool duplicate = error == HA_ERR_FOUND_DUPP_KEY && duplicate_key_ < table->s->keys;
  const Table_ref* altered = ha_thd()->lex->query_tables;
  if (!load_failed_ || !duplicate || altered == nullptr) return handler::print_error(error, flags);
  // The table under its temporary name would mean nothing to the user.
  print_keydup_error(table, &table->key_info[duplicate_key_],
                     ER_THD(ha_thd(), ER_DUP_ENTRY_WITH_KEY_NAME), flags, altered->table_name);
}

Status ha_rowan::ShowDuplicate(Status status) {
  // The message is made from the record; an index on a part of a column does not hold the value.
  duplicate_key_ = codec().KeyOfIndexNumber(status.detail());
  ByteBuffer scratch;
  Result<Bytes> row_key = codec().ClusteredKeyOf(status.detail(), search_key_, &scratch);
  if (!row_key.ok()) return row_key.status();
  ComputeColumns(true);
  reader()->SetColumns(nullptr, KeysFor(false));
  const Status read = reader()->GetRow(*row_key, table->record[0]);
  return read.ok() ? status : read;
}

}  // namespace rowan
