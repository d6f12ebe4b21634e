// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/server/status_variables.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <vector>

#include "mysql/plugin.h"
#include "mysql/status_var.h"
#include "sql/current_thd.h"

#include "base/counters.h"
#include "engine/engine.h"
#include "plugin/server/commit_latency.h"
#include "plugin/server/instance.h"
#include "plugin/server/scan_workers.h"
#include "plugin/server/thd_context.h"

namespace rowan {
namespace {

constexpr size_t kCounters = static_cast<size_t>(Counter::kCount);

/// Figures that are read from the engine.
struct Gauges {
  long long page_size;
  long long pool_pages_total;
  long long pool_pages_free;
  long long pool_pages_dirty;
  long long pool_bytes;
  long long checkpoint_age;
  long long log_lsn;
  long long log_durable_lsn;
  long long log_files;
  long long log_readers;
  long long log_held_bytes;
  long long history_list_length;
  long long versions_kept;
  long long purge_lag;
  long long purge_blocked;
  long long purge_delay_us;
  long long purge_delays;
  long long oldest_snapshot_age;
  long long oldest_snapshot_thread;
  long long undo_streams_damaged;
  long long rollbacks_failed;
  long long row_locks;
  long long row_lock_memory_bytes;
  long long stopped;
  long long parallel_scans;
  long long parallel_pieces;
  long long parallel_pieces_of_workers;
  long long open_files;
  long long open_files_max;
  double log_syncs_per_commit;
  double commits_per_log_sync;
  const char* io_backend;
  const char* log_sync_method;
};

// Filled again by each SHOW STATUS; the server serialises those calls (LOCK_status).
Gauges g_gauges;
std::array<long long, kCounters> g_counters;

double Ratio(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

/// What the oldest snapshot's session runs is for users that may see it (SHOW ENGINE ROWAN STATUS);
/// the server also holds a lock here that looking for a session takes.
void ReadPurge(const PurgeFigures& purge) {
  g_gauges.versions_kept = static_cast<long long>(purge.versions_kept);
  g_gauges.purge_lag = static_cast<long long>(purge.lag);
  g_gauges.purge_blocked = static_cast<long long>(purge.blocked);
  g_gauges.purge_delay_us = purge.writer_delay_us;
  g_gauges.purge_delays = static_cast<long long>(purge.writer_delays);
  const OldestSnapshot& oldest = purge.oldest_snapshot;
  g_gauges.oldest_snapshot_age = static_cast<long long>(oldest.age_ms / 1000);
  g_gauges.oldest_snapshot_thread = static_cast<long long>(oldest.thread);
}

void ReadGauges() {
  const EngineFigures figures = g_engine->Figures();
  g_gauges.page_size = figures.page_size_bytes;
  g_gauges.pool_pages_total = static_cast<long long>(figures.pool_frames);
  g_gauges.pool_pages_free = static_cast<long long>(figures.pool_frames_free);
  g_gauges.pool_pages_dirty = static_cast<long long>(figures.pool_frames_dirty);
  g_gauges.pool_bytes = static_cast<long long>(figures.pool_bytes());
  g_gauges.checkpoint_age = static_cast<long long>(figures.checkpoint_age_bytes);
  g_gauges.log_lsn = static_cast<long long>(figures.log_tail.value());
  g_gauges.log_durable_lsn = static_cast<long long>(figures.log_durable.value());
  g_gauges.log_files = static_cast<long long>(figures.log_files);
  g_gauges.log_readers = static_cast<long long>(figures.log_readers);
  g_gauges.log_held_bytes = static_cast<long long>(figures.log_held_bytes);
  g_gauges.history_list_length = static_cast<long long>(figures.purge.history_length);
  ReadPurge(figures.purge);
  g_gauges.undo_streams_damaged = figures.purge.damaged_streams;
  g_gauges.rollbacks_failed = static_cast<long long>(figures.failed_rollbacks);
  g_gauges.row_locks = static_cast<long long>(figures.row_locks);
  g_gauges.row_lock_memory_bytes = static_cast<long long>(figures.row_lock_memory_bytes);
  g_gauges.stopped = figures.stopped ? 1 : 0;
  g_gauges.open_files = static_cast<long long>(figures.open_files);
  g_gauges.open_files_max = static_cast<long long>(figures.open_files_max);
  const ParallelFigures parallel = ReadParallelFigures();
  g_gauges.parallel_scans = static_cast<long long>(parallel.scans);
  g_gauges.parallel_pieces = static_cast<long long>(parallel.pieces);
  g_gauges.parallel_pieces_of_workers = static_cast<long long>(parallel.pieces_of_workers);
  const uint64_t commits = ReadCounter(Counter::kCommits);
  const uint64_t syncs = ReadCounter(Counter::kLogSyncs);
  g_gauges.log_syncs_per_commit = Ratio(syncs, commits);
  g_gauges.commits_per_log_sync = Ratio(commits, syncs);
  g_gauges.io_backend = IoBackendName(figures.io_backend);
  g_gauges.log_sync_method = LogSyncMethodName(figures.log_sync_method);
}

SHOW_VAR Number(const char* name, long long* value) {
  return {name, reinterpret_cast<char*>(value), SHOW_LONGLONG, SHOW_SCOPE_GLOBAL};
}
SHOW_VAR Fraction(const char* name, double* value) {
  return {name, reinterpret_cast<char*>(value), SHOW_DOUBLE, SHOW_SCOPE_GLOBAL};
}
SHOW_VAR Text(const char* name, const char** value) {
  return {name, reinterpret_cast<char*>(value), SHOW_CHAR_PTR, SHOW_SCOPE_GLOBAL};
}

SHOW_VAR g_gauge_variables[] = {
    Number("page_size", &g_gauges.page_size),
    Number("buffer_pool_pages_total", &g_gauges.pool_pages_total),
    Number("buffer_pool_pages_free", &g_gauges.pool_pages_free),
    Number("buffer_pool_pages_dirty", &g_gauges.pool_pages_dirty),
    Number("buffer_pool_bytes", &g_gauges.pool_bytes),
    Number("checkpoint_age", &g_gauges.checkpoint_age),
    Number("log_lsn", &g_gauges.log_lsn),
    Number("log_durable_lsn", &g_gauges.log_durable_lsn),
    Number("log_files", &g_gauges.log_files),
    Number("log_readers", &g_gauges.log_readers),
    Number("log_held_bytes", &g_gauges.log_held_bytes),
    Number("history_list_length", &g_gauges.history_list_length),
    Number("row_versions_kept", &g_gauges.versions_kept),
    Number("purge_lag", &g_gauges.purge_lag),
    Number("purge_blocked", &g_gauges.purge_blocked),
    Number("purge_delay_us", &g_gauges.purge_delay_us),
    Number("purge_delays", &g_gauges.purge_delays),
    Number("oldest_snapshot_age", &g_gauges.oldest_snapshot_age),
    Number("oldest_snapshot_thread", &g_gauges.oldest_snapshot_thread),
    Number("undo_streams_damaged", &g_gauges.undo_streams_damaged),
    Number("rollbacks_failed", &g_gauges.rollbacks_failed),
    Number("row_locks", &g_gauges.row_locks),
    Number("row_lock_memory_bytes", &g_gauges.row_lock_memory_bytes),
    Number("stopped", &g_gauges.stopped),
    Number("parallel_scans", &g_gauges.parallel_scans),
    Number("parallel_pieces", &g_gauges.parallel_pieces),
    Number("parallel_pieces_of_workers", &g_gauges.parallel_pieces_of_workers),
    Number("open_files", &g_gauges.open_files),
    Number("open_files_max", &g_gauges.open_files_max),
    Fraction("log_syncs_per_commit", &g_gauges.log_syncs_per_commit),
    Fraction("commits_per_log_sync", &g_gauges.commits_per_log_sync),
    Text("io_backend", &g_gauges.io_backend),
    Text("log_sync_method", &g_gauges.log_sync_method),
};
constexpr size_t kGauges = std::size(g_gauge_variables);

constexpr size_t kAll = kGauges + kCounters + CommitLatencyStatus::kVariables;
SHOW_VAR g_all_variables[kAll + 1];

int ShowAll(MYSQL_THD, SHOW_VAR* variable, char*) {
  ReadGauges();
  for (size_t i = 0; i < kGauges; ++i) g_all_variables[i] = g_gauge_variables[i];
  for (size_t i = 0; i < kCounters; ++i) {
    const auto counter = static_cast<Counter>(i);
    g_counters[i] = static_cast<long long>(ReadCounter(counter));
    g_all_variables[kGauges + i] = Number(CounterDescription(counter).name, &g_counters[i]);
  }
  static CommitLatencyStatus latency;
  latency.Read(g_all_variables + kGauges + kCounters);
  g_all_variables[kAll] = {nullptr, nullptr, SHOW_UNDEF, SHOW_SCOPE_UNDEF};
  variable->type = SHOW_ARRAY;
  variable->value = reinterpret_cast<char*>(g_all_variables);
  return 0;
}

constexpr std::array kKindNames = {"single_table", "join", "aggregation"};
static_assert(kKindNames.size() == ReadMeter::kKinds);

/// The session's meter as variables. Each reading thread has its own.
struct SessionReads {
  void AddNumber(const std::string& name, uint64_t value) {
    names.push_back(name);
    values.push_back(static_cast<long long>(value));
  }
  void Add(const std::string& name, const ReadAmount& amount) {
    AddNumber(name + "_entries", amount.entries);
    AddNumber(name + "_bytes", amount.bytes);
  }
  void Fill(const ReadMeter& meter) {
    names.clear();
    values.clear();
    variables.clear();
    for (size_t i = 0; i < ReadMeter::kKinds; ++i) {
      Add(std::string("examined_") + kKindNames[i], meter.examined[i]);
      Add(std::string("returned_") + kKindNames[i], meter.returned[i]);
    }
    Add("examined_co_located", meter.co_located);
    Add("examined_index_only_fallback", meter.index_only_fallback);
    for (size_t i = 0; i < values.size(); ++i) {
      variables.push_back({names[i].c_str(), reinterpret_cast<char*>(&values[i]), SHOW_LONGLONG,
                           SHOW_SCOPE_SESSION});
    }
    variables.push_back({nullptr, nullptr, SHOW_UNDEF, SHOW_SCOPE_UNDEF});
  }
  std::vector<std::string> names;
  std::vector<long long> values;
  std::vector<SHOW_VAR> variables;
};

int ShowSession(MYSQL_THD thd, SHOW_VAR* variable, char*) {
  static thread_local SessionReads reads;
  // Another session's meter belongs to its thread.
  const ThdContext* context = thd == current_thd ? FindContext(thd) : nullptr;
  reads.Fill(context == nullptr ? ReadMeter{} : context->reads);
  variable->type = SHOW_ARRAY;
  variable->value = reinterpret_cast<char*>(reads.variables.data());
  return 0;
}

}  // namespace

SHOW_VAR g_status_variables[] = {
    {"Rowan", reinterpret_cast<char*>(&ShowAll), SHOW_FUNC, SHOW_SCOPE_GLOBAL},
    {"Rowan_session", reinterpret_cast<char*>(&ShowSession), SHOW_FUNC, SHOW_SCOPE_SESSION},
    {nullptr, nullptr, SHOW_UNDEF, SHOW_SCOPE_UNDEF}};

}  // namespace rowan
