// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/handler/stopword_table.h"

#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "mysql/plugin.h"
#include "mysqld_error.h"
#include "sql/dd/cache/dictionary_client.h"
#include "sql/dd/types/abstract_table.h"
#include "sql/dd/types/table.h"
#include "sql/error_handler.h"
#include "sql/field.h"
#include "sql/handler.h"
#include "sql/mdl.h"
#include "sql/sql_base.h"
#include "sql/sql_class.h"
#include "sql/sql_table.h"
#include "sql/table.h"

#include "plugin/codec/server_variable.h"

namespace rowan {
namespace {

/// They are stored in the catalog.
constexpr size_t kStopwordBytesMax = 64 * 1024;

using TableName = std::array<char, NAME_LEN + 1>;

TableName NameIn(const std::string& file_name) {
  TableName name;
  filename_to_tablename(file_name.c_str(), name.data(), name.size());
  return name;
}

/// As required by InnoDB.
bool HasStopwordColumn(const TABLE& table) {
  return table.s->fields > 0 && std::string_view(table.field[0]->field_name) == "value" &&
         table.field[0]->real_type() == MYSQL_TYPE_VARCHAR;
}

/// False: there are too many, or the table cannot be read.
bool ReadWords(TABLE* table, std::vector<std::string>* words) {
  size_t bytes = 0;
  if (table->file->ha_rnd_init(true) != 0) return false;
  int error = table->file->ha_rnd_next(table->record[0]);
  for (; error == 0; error = table->file->ha_rnd_next(table->record[0])) {
    if (table->field[0]->is_null()) continue;
    String buffer;
    const String* word = table->field[0]->val_str(&buffer);
    bytes += word->length() + 1;
    if (bytes > kStopwordBytesMax) break;
    words->emplace_back(word->ptr(), word->length());
  }
  table->file->ha_rnd_end();
  return error == HA_ERR_END_OF_FILE;
}

/// Keeps errors from the client, which gets the caller's, and remembers the first one.
class ErrorCatcher : public Internal_error_handler {
 public:
  explicit ErrorCatcher(THD* thd) : thd_(thd) { thd_->push_internal_handler(this); }
  ~ErrorCatcher() override { thd_->pop_internal_handler(); }
  ErrorCatcher(const ErrorCatcher&) = delete;
  ErrorCatcher& operator=(const ErrorCatcher&) = delete;

  bool handle_condition(THD*, uint error, const char*, Sql_condition::enum_severity_level* level,
                        const char*) override {
    if (error_ == 0 && *level == Sql_condition::SL_ERROR) error_ = error;
    return true;
  }

  /// Why the table could not be read: the end of the wait for it, or else kUnsupported.
  [[nodiscard]] Status Reason() const {
    if (thd_killed(thd_) != 0) return Status(Code::kInterrupted);
    switch (error_) {
      case ER_LOCK_WAIT_TIMEOUT: return Status(Code::kLockTimeout);
      case ER_LOCK_DEADLOCK: return Status(Code::kDeadlock);
      case ER_QUERY_INTERRUPTED:
      case ER_QUERY_TIMEOUT: return Status(Code::kInterrupted);
      default: return Status(Code::kUnsupported);
    }
  }

 private:
  THD* const thd_;
  uint error_ = 0;
};

/// The metadata lock of a table that is read: waits for as long as the session's lock_wait_timeout
/// says.
class SharedTableLock {
 public:
  SharedTableLock(THD* thd, const char* database, const char* name) : thd_(thd) {
    MDL_REQUEST_INIT(&request_, MDL_key::TABLE, database, name, MDL_SHARED_READ, MDL_EXPLICIT);
    granted_ = !thd->mdl_context.acquire_lock(&request_, thd->variables.lock_wait_timeout);
  }
  ~SharedTableLock() {
    if (granted_) thd_->mdl_context.release_lock(request_.ticket);
  }
  SharedTableLock(const SharedTableLock&) = delete;
  SharedTableLock& operator=(const SharedTableLock&) = delete;

  [[nodiscard]] bool granted() const { return granted_; }

 private:
  THD* const thd_;
  MDL_request request_;
  bool granted_ = false;
};

/// Checked before it is opened, as a table with such an index itself may be in an ALTER.
/// REQUIRES: its metadata lock.
bool IsInnodbTable(THD* thd, const char* database, const char* name) {
  const dd::cache::Dictionary_client::Auto_releaser releaser(thd->dd_client());
  const dd::Table* table = nullptr;
  return !thd->dd_client()->acquire(database, name, &table) && table != nullptr &&
         table->engine() == "InnoDB";
}

/// Null: it cannot be read, or has no such words. Reads in its own transaction, apart from the
/// statement's. REQUIRES: its metadata lock, for which opening it would wait indefinitely.
std::shared_ptr<const Stopwords> ReadStopwords(THD* thd, const char* database, const char* name) {
  Table_ref reference(database, name, TL_READ);
  reference.required_type = dd::enum_table_type::BASE_TABLE;
  if (open_trans_system_tables_for_read(thd, &reference)) return nullptr;
  std::shared_ptr<const Stopwords> stopwords;
  std::vector<std::string> words;
  if (HasStopwordColumn(*reference.table) && ReadWords(reference.table, &words)) {
    const CHARSET_INFO* collation = reference.table->field[0]->charset();
    stopwords = std::make_shared<const Stopwords>(collation, std::move(words));
  }
  close_trans_system_tables(thd);
  return stopwords;
}

Status ReadStopwords(THD* thd, const std::string& name, std::shared_ptr<const Stopwords>* words) {
  const size_t slash = name.find('/');
  if (slash == std::string::npos) return Status(Code::kUnsupported);
  const TableName database = NameIn(name.substr(0, slash));
  const TableName table_name = NameIn(name.substr(slash + 1));
  const ErrorCatcher errors(thd);
  const SharedTableLock lock(thd, database.data(), table_name.data());
  if (lock.granted() && IsInnodbTable(thd, database.data(), table_name.data())) {
    *words = ReadStopwords(thd, database.data(), table_name.data());
  }
  return *words != nullptr ? Status::Ok() : errors.Reason();
}

}  // namespace

Status WordLimitsNow(THD* thd, WordLimits* limits, std::string* refusal) {
  *limits = ServerWordSizes();
  limits->leaves_out_stopwords = ServerVariable("innodb_ft_enable_stopword") != "OFF";
  if (!limits->leaves_out_stopwords) return Status::Ok();
  std::string name = ServerVariable("innodb_ft_user_stopword_table");
  if (name.empty()) name = ServerVariable("innodb_ft_server_stopword_table");
  if (name.empty()) return Status::Ok();
  const Status status = ReadStopwords(thd, name, &limits->stopwords);
  if (status.Is(Code::kUnsupported)) {
    *refusal = "the stopword table '" + name +
               "': an InnoDB table is wanted with a first column 'value' of type VARCHAR, "
               "of at most 64 KiB";
  }
  return status;
}

}  // namespace rowan
