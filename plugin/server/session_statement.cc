// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/server/session_statement.h"

#include <algorithm>

#include "sql/mysqld_thd_manager.h"
#include "sql/sql_class.h"

namespace rowan {
namespace {

constexpr size_t kStatementBytesMax = 900;

}  // namespace

std::string StatementOfThread(uint64_t connection_id) {
  Global_THD_manager* manager = Global_THD_manager::get_instance();
  if (connection_id == 0 || manager == nullptr) return {};
  Find_thd_with_id finder(static_cast<my_thread_id>(connection_id));
  THD_ptr thd = manager->find_thd(&finder);  // holds its LOCK_thd_data
  if (!thd) return {};
  mysql_mutex_lock(&thd->LOCK_thd_query);
  const LEX_CSTRING query = thd->query();
  std::string statement;
  if (query.str != nullptr) statement.assign(query.str, std::min(query.length, kStatementBytesMax));
  mysql_mutex_unlock(&thd->LOCK_thd_query);
  return statement;
}

}  // namespace rowan
