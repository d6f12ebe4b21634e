// SPDX-License-Identifier: GPL-2.0-only
// What the optimizer and SHOW TABLE STATUS learn, and ANALYZE, CHECK and OPTIMIZE TABLE. info()
// takes no lock that writers hold.
#include "plugin/server/abi_guard.h"

#include "plugin/handler/ha_rowan.h"

#include <algorithm>

#include "mysql/plugin.h"
#include "sql/sql_class.h"

#include "plugin/compat/server_line.h"
#include "plugin/handler/key_bounds.h"
#include "plugin/handler/table_check.h"
#include "plugin/server/instance.h"
#include "plugin/server/system_variables.h"
#include "plugin/server/table_statistics.h"

namespace rowan {

int ha_rowan::info(uint flag) {
  if ((flag & HA_STATUS_ERRKEY) != 0) errkey = duplicate_key_;
  // Also with the variable part: INFORMATION_SCHEMA requests nothing else for a cached table.
  if ((flag & (HA_STATUS_CONST | kStatisticsOfUsedKeys | HA_STATUS_VARIABLE)) != 0) {
    key_statistics_.Publish(*part_, (flag & HA_STATUS_CONST) != 0);
  }
  if ((flag & (HA_STATUS_VARIABLE | HA_STATUS_CONST)) != 0) {
    ShowStatistics(engine_table()->statistics(), flag);
  }
  if ((flag & HA_STATUS_TIME) != 0) stats.update_time = engine_table()->update_time();
  if ((flag & HA_STATUS_AUTO) != 0 && table->found_next_number_field != nullptr) {
    stats.auto_increment_value = engine_table()->auto_increment();
  }
  return 0;
}

void ha_rowan::ShowStatistics(const Table::Statistics& now, uint flag) {
  FillStatistics(now, &stats);
  // 0 would let the optimizer treat the table as empty, which only a snapshot can tell.
  if (stats.records == 0 && (flag & HA_STATUS_TIME) == 0) stats.records = 1;
  stats.mrr_length_per_rec = ref_length + sizeof(void*);
  stats.block_size = static_cast<uint>(g_engine->options().storage.page_size_bytes);
}

double ha_rowan::scan_time() {
  return static_cast<double>(std::max<uint64_t>(engine_table()->statistics().clustered_pages, 1));
}

double ha_rowan::read_time(uint index, uint ranges, ha_rows rows) {
  // MAX_KEY means the table itself.
  const bool secondary = index < table->s->keys && codec().IndexNumberOfKey(index) != 0;
  if (secondary) return handler::read_time(index, ranges, rows);
  return RowsReadTime(engine_table()->statistics(), ranges, rows);
}

longlong ha_rowan::get_memory_buffer_size() const {
  return static_cast<longlong>(BufferPoolBytes());
}

ha_rows ha_rowan::records_in_range(uint index, key_range* low, key_range* high) {
  const Result<uint64_t> rows = EstimateRange(*part_, index, low, high, &estimated_);
  if (!rows.ok()) return HA_POS_ERROR;
  // 0 would promise the optimizer that there are none.
  return std::max<ha_rows>(rows.value(), 1);
}

void ha_rowan::update_create_info(HA_CREATE_INFO* create_info) {
  const Result<std::string> directory = g_engine->DirectoryOf(engine_table()->id());
  if (directory.ok() && !directory.value().empty()) {
    // The server wants a file's name there, and takes what precedes the last slash. A fixed name: a
    // table's name may have slashes itself, from a user who must not name directories.
    const std::string file = directory.value() + "/table";
    create_info->data_file_name = ha_thd()->mem_strdup(file.c_str());
  }
  if ((create_info->used_fields & HA_CREATE_USED_AUTO) != 0) return;
  create_info->auto_increment_value =
      table->found_next_number_field != nullptr ? engine_table()->auto_increment() : 0;
}

// --- counts ---

int ha_rowan::records(ha_rows* count) { return CountRows(0, count); }

int ha_rowan::records_from_index(ha_rows* count, uint index) {
  return CountRows(codec().IndexNumberOfKey(index), count);
}

bool ha_rowan::CountsUnderLocks() const {
  return read_options_.mode != ReadMode::kSnapshot &&
         read_options_.mode != ReadMode::kReadUncommitted;
}

int ha_rowan::CountRows(uint32_t index_number, ha_rows* count) {
  *count = HA_POS_ERROR;
  if (CountsUnderLocks()) {
    return index_number == 0
               ? handler::records(count)
               : handler::records_from_index(count, codec().KeyOfIndexNumber(index_number));
  }
  uint64_t rows = 0;
  Status status;
  if (row_plan_ != nullptr && row_plan_->kind == RowPlan::Kind::kCount) {
    const int error = index_init(row_plan_->key, true);
    if (error != 0) return error;
    PrepareRead();
    status = CountPlannedRows(*row_plan_, part_, &rows);
    index_end();
  } else {
    Result<uint64_t> counted = reader()->CountEntries(index_number);
    status = counted.status();
    if (counted.ok()) rows = *counted;
  }
  if (!status.ok()) return Fail(status);
  part_->ReportSalvage(ha_thd());
  if (thd_killed(ha_thd()) != 0) return HA_ERR_QUERY_INTERRUPTED;
  *count = rows;
  return 0;
}

// --- administration ---

int ha_rowan::analyze(THD* thd, HA_CHECK_OPT*) {
  const int result = AnalyzeTable(thd, part_);
  if (result == HA_ADMIN_OK) info(HA_STATUS_NO_LOCK | HA_STATUS_CONST | HA_STATUS_VARIABLE);
  return result;
}

int ha_rowan::check(THD* thd, HA_CHECK_OPT*) { return CheckTable(thd, part_, session_); }

int ha_rowan::optimize(THD*, HA_CHECK_OPT*) { return HA_ADMIN_TRY_ALTER; }

}  // namespace rowan
