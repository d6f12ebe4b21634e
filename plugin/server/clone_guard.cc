// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/server/clone_guard.h"

#include <atomic>
#include <string>

#include "my_sys.h"
#include "mysqld_error.h"
#include "sql/handler.h"
#include "sql/mysqld.h"

#include "engine/engine.h"
#include "plugin/server/instance.h"
#include "plugin/server/thd_context.h"

namespace rowan {
namespace {

// InnoDB's own hooks; constant while the guard is installed.
Clone_begin_t g_begin = nullptr;
Clone_copy_t g_copy = nullptr;
std::atomic<int> g_inside{0};
/// The clone, of which there is one at a time, was started by a connection that makes a backup. Its
/// helpers have sessions of their own.
std::atomic<bool> g_of_backup{false};

struct Inside {
  Inside() { g_inside.fetch_add(1); }
  ~Inside() { g_inside.fetch_sub(1); }
};

/// A connection that makes a backup copies Rowan's part, too: scripts/backup combines them.
bool BacksUp(THD* thd) {
  const ThdContext* context = FindContext(thd);
  return context != nullptr && context->backup != nullptr;
}

/// 0, or the error it raised.
int RefuseIfTablesExist() {
  if (g_of_backup.load()) return 0;
  const std::vector<TableDef> tables = g_engine->ListTables();
  if (tables.empty()) return 0;
  my_printf_error(ER_NOT_SUPPORTED_YET,
                  "CLONE copies InnoDB tables only, and this server has Rowan tables (%zu, among "
                  "them '%s'): the copy would lack them. Use scripts/backup.",
                  MYF(0), tables.size(), tables.front().name.c_str());
  return ER_NOT_SUPPORTED_YET;
}

int BeginClone(handlerton* hton, THD* thd, const uchar*& locator, uint& locator_bytes, uint& task,
               Ha_clone_type type, Ha_clone_mode mode) {
  const Inside inside;
  g_of_backup.store(BacksUp(thd));
  const int refused = RefuseIfTablesExist();
  return refused != 0 ? refused : g_begin(hton, thd, locator, locator_bytes, task, type, mode);
}

int CopyClone(handlerton* hton, THD* thd, const uchar* locator, uint locator_bytes, uint task,
              Ha_clone_cbk* callback) {
  const Inside inside;
  const int failed = g_copy(hton, thd, locator, locator_bytes, task, callback);
  return failed != 0 ? failed : RefuseIfTablesExist();
}

}  // namespace

void PutUpCloneGuard() {
  if (innodb_hton == nullptr) return;
  Clone_interface_t& hooks = innodb_hton->clone_interface;
  if (hooks.clone_begin == nullptr || hooks.clone_copy == nullptr) return;
  g_begin = hooks.clone_begin;
  g_copy = hooks.clone_copy;
  hooks.clone_begin = BeginClone;
  hooks.clone_copy = CopyClone;
}

void TakeAwayCloneGuard() {
  if (g_begin == nullptr) return;
  Clone_interface_t& hooks = innodb_hton->clone_interface;
  hooks.clone_begin = g_begin;
  hooks.clone_copy = g_copy;
  g_begin = nullptr;
  g_copy = nullptr;
}

bool CloneIsRunning() { return g_inside.load() != 0; }

}  // namespace rowan
