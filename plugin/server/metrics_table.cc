// SPDX-License-Identifier: GPL-2.0-only
// ROWAN_METRICS: every figure and counter of the engine with its unit and meaning.
#include "plugin/server/abi_guard.h"

#include "sql/sql_class.h"
#include "sql/table.h"

#include "base/counters.h"
#include "engine/engine.h"
#include "plugin/server/information_schema.h"
#include "plugin/server/instance.h"
#include "plugin/server/schema_table.h"

namespace rowan {
namespace {

ST_FIELD_INFO g_columns[] = {TextColumn("NAME", kNameCharactersMax),
                             NumberColumn("COUNT"),
                             TextColumn("UNIT", 16),
                             TextColumn("TYPE", 8),
                             TextColumn("COMMENT", 192),
                             LastColumn()};

struct Gauge {
  const char* name;
  uint64_t value;
  const char* unit;
  const char* help;
};

bool Store(const Gauge& gauge, const char* type, SchemaRows* rows) {
  rows->Text(gauge.name).Number(gauge.value).Text(gauge.unit).Text(type).Text(gauge.help);
  return rows->Store();
}

bool StorePoolAndFiles(const EngineFigures& now, SchemaRows* rows) {
  const Gauge gauges[] = {
      {"buffer_pool_pages_total", now.pool_frames, "pages", "Size of the buffer pool."},
      {"buffer_pool_pages_free", now.pool_frames_free, "pages", "Frames without a page."},
      {"buffer_pool_pages_dirty", now.pool_frames_dirty, "pages",
       "Pages changed and not written yet."},
      {"page_lsns_memory", now.page_lsns_bytes, "bytes",
       "Memory of the last written LSNs of pages."},
      {"visibility_map_memory", now.visibility_map_bytes, "bytes",
       "Memory of the visibility maps of all indexes."},
      {"open_files", now.open_files, "files", "Open handles of tablespaces."},
      {"open_files_max", now.open_files_max, "files", "As many may be open."},
      {"scrub_round_pages_done", now.scrub.pages_done, "pages",
       "Pages that scrubbing has read in the round under way."},
      {"scrub_round_pages_total", now.scrub.pages_total, "pages",
       "Pages that a round of scrubbing reads."},
      {"scrub_round_seconds", now.scrub.round_seconds, "seconds",
       "Since the round of scrubbing under way began."},
      {"scrub_rounds", now.scrub.rounds, "rounds", "Complete rounds of scrubbing since the start."},
      {"stopped", now.stopped ? 1U : 0U, "", "1: a write or sync failed, the engine stopped."},
  };
  for (const Gauge& gauge : gauges) {
    if (Store(gauge, "gauge", rows)) return true;
  }
  return false;
}

bool StoreLogAndTransactions(const EngineFigures& now, SchemaRows* rows) {
  const Gauge gauges[] = {
      {"log_lsn", now.log_tail.value(), "bytes", "End of the log, LSN."},
      {"log_written_lsn", now.log_written.value(), "bytes", "The kernel has the log up to it."},
      {"log_durable_lsn", now.log_durable.value(), "bytes", "The disk has the log up to it."},
      {"log_checkpoint_lsn", now.log_checkpoint.value(), "bytes",
       "A start after a crash redoes from here on."},
      {"checkpoint_age", now.checkpoint_age_bytes, "bytes", "What it would redo."},
      {"log_capacity", now.log_capacity_bytes, "bytes", "The age is kept below."},
      {"log_files", now.log_files, "files", "Files of the redo log."},
      {"log_readers", now.log_readers, "readers", "Who holds a part of the log."},
      {"log_held", now.log_held_bytes, "bytes", "From the oldest of them to the end of the log."},
      {"history_list_length", now.purge.history_length, "transactions",
       "Committed transactions whose old versions purge has not removed."},
      {"row_versions_kept", now.purge.versions_kept, "versions", "Their undo records."},
      {"purge_lag", now.purge.lag, "versions", "Of these, what purge can remove."},
      {"purge_blocked", now.purge.blocked, "versions",
       "Of these, what waits for something damaged or that cannot be opened."},
      {"undo_streams_damaged", now.purge.damaged_streams, "streams",
       "Streams of undo in which damage was met."},
      {"rollbacks_failed", now.failed_rollbacks, "transactions",
       "Rollbacks that failed and wait for their next try: their rows are locked."},
      {"row_locks", now.row_locks, "locks", "Explicit row locks."},
      {"row_lock_memory", now.row_lock_memory_bytes, "bytes", "Memory of row locks."},
  };
  for (const Gauge& gauge : gauges) {
    if (Store(gauge, "gauge", rows)) return true;
  }
  return false;
}

bool StoreCounters(SchemaRows* rows) {
  for (uint32_t i = 0; i < static_cast<uint32_t>(Counter::kCount); ++i) {
    const auto counter = static_cast<Counter>(i);
    const CounterInfo& info = CounterDescription(counter);
    if (Store({info.name, ReadCounter(counter), info.unit, info.help}, "counter", rows))
      return true;
  }
  return false;
}

int Fill(THD* thd, Table_ref* tables, Item*) {
  if (!MayLook(thd)) return 0;
  SchemaRows rows(thd, tables->table);
  const EngineFigures now = g_engine->Figures();
  const bool failed =
      StorePoolAndFiles(now, &rows) || StoreLogAndTransactions(now, &rows) || StoreCounters(&rows);
  return failed ? 1 : 0;
}

}  // namespace

int InitializeMetricsTable(void* schema_table) {
  return DescribeSchemaTable(schema_table, g_columns, Fill);
}

}  // namespace rowan
