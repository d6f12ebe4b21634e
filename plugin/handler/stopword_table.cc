// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/handler/stopword_table.h"

#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "sql/dd/types/abstract_table.h"
#include "sql/error_handler.h"
#include "sql/field.h"
#include "sql/handler.h"
#include "sql/sql_base.h"
#include "sql/sql_class.h"
#include "sql/sql_table.h"
#include "sql/table.h"

#include "plugin/codec/server_variable.h"

namespace rowan {
namespace {

/// They are kept in the catalog.
constexpr size_t kStopwordBytesMax = 64 * 1024;

using TableName = std::array<char, NAME_LEN + 1>;

TableName NameIn(const std::string& file_name) {
  TableName name;
  filename_to_tablename(file_name.c_str(), name.data(), name.size());
  return name;
}

/// As InnoDB wants it.
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

/// Null: it cannot be read, or has no such words. In a transaction of its own, which does not touch
/// the one of the statement.
std::shared_ptr<const Stopwords> ReadStopwords(THD* thd, const std::string& name) {
  const size_t slash = name.find('/');
  if (slash == std::string::npos) return nullptr;
  const TableName database = NameIn(name.substr(0, slash));
  const TableName table_name = NameIn(name.substr(slash + 1));
  Table_ref reference(database.data(), table_name.data(), TL_READ);
  reference.required_type = dd::enum_table_type::BASE_TABLE;
  Dummy_error_handler refused;  // the caller has a sentence of its own
  thd->push_internal_handler(&refused);
  std::shared_ptr<const Stopwords> stopwords;
  if (!open_trans_system_tables_for_read(thd, &reference)) {
    std::vector<std::string> words;
    if (HasStopwordColumn(*reference.table) && ReadWords(reference.table, &words)) {
      const CHARSET_INFO* collation = reference.table->field[0]->charset();
      stopwords = std::make_shared<const Stopwords>(collation, std::move(words));
    }
    close_trans_system_tables(thd);
  }
  thd->pop_internal_handler();
  return stopwords;
}

}  // namespace

bool WordLimitsNow(THD* thd, WordLimits* limits, std::string* refusal) {
  *limits = ServerWordSizes();
  limits->leaves_out_stopwords = ServerVariable("innodb_ft_enable_stopword") != "OFF";
  if (!limits->leaves_out_stopwords) return true;
  std::string name = ServerVariable("innodb_ft_user_stopword_table");
  if (name.empty()) name = ServerVariable("innodb_ft_server_stopword_table");
  if (name.empty()) return true;
  limits->stopwords = ReadStopwords(thd, name);
  if (limits->stopwords == nullptr) {
    *refusal = "the stopword table '" + name +
               "': an InnoDB table is wanted with a first column 'value' of type VARCHAR, "
               "of at most 64 KiB";
  }
  return limits->stopwords != nullptr;
}

}  // namespace rowan
