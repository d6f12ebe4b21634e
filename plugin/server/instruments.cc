// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/server/instruments.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "my_sys.h"
#include "my_thread.h"
#include "mysql/psi/mysql_stage.h"
#include "mysql/psi/mysql_thread.h"
#include "sql/sql_class.h"

#include "base/instruments.h"

namespace rowan {
namespace {

constexpr const char* kCategory = "rowan";

// --- threads ---

/// A background thread by the beginning of its name: those of a group are told apart by numbers.
struct BackgroundThread {
  std::string_view name;
  const char* instrument;
  PSI_thread_key key = 0;
};
BackgroundThread g_threads[] = {
    {"purge-", "purge"},           {"clean-", "page_cleaner"},
    {"sync-", "data_sync"},        {"checkpoint", "checkpoint"},
    {"evict", "evictor"},          {"read-ahead", "read_ahead"},
    {"versions", "page_lsns"},     {"log-flush", "log_flusher"},
    {"log-files", "log_files"},    {"redo", "redo"},
    {"housekeep", "housekeeping"}, {"", "background"},
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

constexpr Instruments kInstruments = {.thread_begins = ThreadBegins, .thread_ends = ThreadEnds};

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
  SetInstruments(&kInstruments);
}

void ForgetInstruments() { SetInstruments(nullptr); }

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
