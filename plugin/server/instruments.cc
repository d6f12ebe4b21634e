// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/server/instruments.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "my_sys.h"
#include "my_thread.h"
#include "mysql/psi/mysql_memory.h"
#include "mysql/psi/mysql_stage.h"
#include "mysql/psi/mysql_thread.h"
#include "sql/sql_class.h"

#include "base/instruments.h"
#include "plugin/server/file_instruments.h"

namespace rowan {
namespace {

constexpr const char* kCategory = "rowan";

// --- threads ---

/// A background thread by the beginning of its name: those of a group are distinguished by numbers.
struct BackgroundThread {
  std::string_view name;
  const char* instrument;
  PSI_thread_key key = 0;
};
BackgroundThread g_threads[] = {
    {"purge-", "purge"},
    {"clean-", "page_cleaner"},
    {"sync-", "data_sync"},
    {"checkpoint", "checkpoint"},
    {"evict", "evictor"},
    {"read-ahead", "read_ahead"},
    {"versions", "page_lsns"},
    {"log-flush", "log_flusher"},
    {"log-files", "log_files"},
    {"redo", "redo"},
    {"io", "io"},
    {"housekeep", "housekeeping"},
    {"ddl-", "ddl"},
    {"scan-", "scan"},
    {"", "background"},
};

void RegisterThreads() {
  constexpr size_t kCount = std::size(g_threads);
  static PSI_thread_info infos[kCount];
  for (size_t i = 0; i < kCount; ++i) {
    infos[i] = {&g_threads[i].key, g_threads[i].instrument, g_threads[i].instrument, 0, 0, ""};
  }
  mysql_thread_register(kCategory, infos, static_cast<int>(kCount));
}

void ThreadBegins(const char* name) {
  my_thread_init();
  const auto* found = std::find_if(std::begin(g_threads), std::end(g_threads),
                                   [name](const BackgroundThread& thread) {
                                     return std::string_view(name).starts_with(thread.name);
                                   });
#ifdef HAVE_PSI_THREAD_INTERFACE
  PSI_thread* psi = PSI_THREAD_CALL(new_thread)(found->key, 0, nullptr, 0);
  PSI_THREAD_CALL(set_thread_os_id)(psi);
  PSI_THREAD_CALL(set_thread)(psi);
#endif
}

void ThreadEnds() {
#ifdef HAVE_PSI_THREAD_INTERFACE
  PSI_THREAD_CALL(delete_current_thread)();
#endif
  my_thread_end();
}

Instruments g_instruments = {.thread_begins = ThreadBegins, .thread_ends = ThreadEnds};

// --- memory ---

/// By MemoryUse.
PSI_memory_key g_memory_keys[2];
/// What performance_schema has recorded, and for which thread.
struct Accounted {
  PSI_memory_key key = 0;
  uint64_t bytes = 0;
  PSI_thread* owner = nullptr;
};
Accounted g_accounted[2];  // by the thread that starts, stops or resizes

void RegisterMemory() {
  static PSI_memory_info infos[] = {
      {&g_memory_keys[0], "buffer_pool", PSI_FLAG_ONLY_GLOBAL_STAT, 0, PSI_DOCUMENT_ME},
      {&g_memory_keys[1], "log_buffer", PSI_FLAG_ONLY_GLOBAL_STAT, 0, PSI_DOCUMENT_ME},
  };
  mysql_memory_register(kCategory, infos, static_cast<int>(std::size(infos)));
}

// --- stages ---

/// By WorkPhase.
PSI_stage_info g_stages[] = {
    {0, "alter table (read rows)", PSI_FLAG_STAGE_PROGRESS, PSI_DOCUMENT_ME},
    {0, "alter table (build index)", PSI_FLAG_STAGE_PROGRESS, PSI_DOCUMENT_ME},
    {0, "alter table (catch up)", PSI_FLAG_STAGE_PROGRESS, PSI_DOCUMENT_ME},
};

void RegisterStages() {
  static PSI_stage_info* infos[std::size(g_stages)];
  for (size_t i = 0; i < std::size(g_stages); ++i) infos[i] = &g_stages[i];
  mysql_stage_register(kCategory, infos, static_cast<int>(std::size(g_stages)));
}

}  // namespace

void RegisterInstruments() {
  RegisterThreads();
  RegisterStages();
  RegisterMemory();
  RegisterFileInstruments();
  AddFileInstruments(&g_instruments);
  SetInstruments(&g_instruments);
}

void ForgetInstruments() {
  AccountMemory(MemoryUse::kBufferPool, 0);
  AccountMemory(MemoryUse::kLogBuffer, 0);
  SetInstruments(nullptr);
}

void AccountMemory(MemoryUse use, uint64_t bytes) {
  const auto place = static_cast<size_t>(use);
  Accounted& now = g_accounted[place];
  if (now.bytes != 0) PSI_MEMORY_CALL(memory_free)(now.key, now.bytes, now.owner);
  now = {.key = 0, .bytes = bytes, .owner = nullptr};
  if (bytes == 0) return;
  now.key = PSI_MEMORY_CALL(memory_alloc)(g_memory_keys[place], bytes, &now.owner);
}

StatementStages::StatementStages(THD* thd, Session* session) : thd_(thd), session_(session) {
  PSI_stage_info former{};
  thd->enter_stage(nullptr, &former, __func__, __FILE__, __LINE__);
  former_name_ = former.m_name;
  former_key_ = former.m_key;
  session->ReportProgress(this);
}

StatementStages::~StatementStages() {
  session_->ReportProgress(nullptr);
  PSI_stage_info former{};
  former.m_key = former_key_;
  former.m_name = former_name_;
  thd_->enter_stage(&former, nullptr, __func__, __FILE__, __LINE__);
}

void StatementStages::Begin(WorkPhase phase, uint64_t estimated) {
  thd_->enter_stage(&g_stages[static_cast<size_t>(phase)], nullptr, __func__, __FILE__, __LINE__);
  estimated_ = estimated;
  mysql_stage_set_work_estimated(thd_->m_stage_progress_psi, estimated);
}

void StatementStages::Completed(uint64_t units) {
  mysql_stage_set_work_completed(thd_->m_stage_progress_psi, units);
  if (units <= estimated_) return;
  // More came than were counted: never more done than there is to do.
  estimated_ = units;
  mysql_stage_set_work_estimated(thd_->m_stage_progress_psi, units);
}

}  // namespace rowan
