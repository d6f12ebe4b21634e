// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/abi_guard.h"

#include "plugin/create_checks.h"

#include <cstring>

#include "sql/handler.h"
#include "sql/key_spec.h"
#include "sql/sql_alter.h"
#include "sql/sql_class.h"
#include "sql/sql_lex.h"
#include "sql/table.h"

namespace rowan {
namespace {

/// The server drops foreign keys silently for engines that do not announce them.
bool AsksForForeignKey(THD* thd) {
  if (thd->lex == nullptr || thd->lex->alter_info == nullptr) return false;
  for (const Key_spec* key : thd->lex->alter_info->key_list) {
    if (key->type == KEYTYPE_FOREIGN) return true;
  }
  return false;
}

/// LEX_STRING or LEX_CSTRING.
template <typename Text>
bool IsGiven(const Text& text) {
  return text.str != nullptr && text.length > 0;
}
bool IsGiven(const char* text) { return text != nullptr && *text != 0; }

std::string RowFormatProblem(const HA_CREATE_INFO& info) {
  switch (info.row_type) {
    case ROW_TYPE_NOT_USED:
    case ROW_TYPE_DEFAULT:
    case ROW_TYPE_DYNAMIC: return {};
    default: return "this ROW_FORMAT; DYNAMIC is the only one";
  }
}

bool WantsEncryption(const HA_CREATE_INFO& info) {
  return IsGiven(info.encrypt_type) && info.encrypt_type.str[0] != 'N' &&
         info.encrypt_type.str[0] != 'n';
}

bool WantsCompression(const HA_CREATE_INFO& info) {
  return IsGiven(info.compress) && strcasecmp(info.compress.str, "none") != 0;
}

}  // namespace

std::string UnsupportedOption(THD* thd, const TABLE* form, const HA_CREATE_INFO& info) {
  if ((info.options & HA_LEX_CREATE_TMP_TABLE) != 0) return "temporary tables";
  if (AsksForForeignKey(thd)) return "foreign keys";
  if (form->part_info != nullptr) return "partitioned tables";
  if (IsGiven(info.data_file_name)) return "DATA DIRECTORY";
  if (IsGiven(info.index_file_name)) return "INDEX DIRECTORY";
  if (IsGiven(info.tablespace)) return "TABLESPACE: each table has a file of its own";
  if (WantsEncryption(info)) return "ENCRYPTION";
  if (WantsCompression(info)) return "COMPRESSION";
  if ((info.used_fields & HA_CREATE_USED_KEY_BLOCK_SIZE) != 0 && info.key_block_size != 0) {
    return "KEY_BLOCK_SIZE";
  }
  if (IsGiven(info.secondary_engine)) return "SECONDARY_ENGINE";
  return RowFormatProblem(info);
}

}  // namespace rowan
