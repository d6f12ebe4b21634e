// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/handler/create_checks.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>

#include "mysqld_error.h"
#include "sql/handler.h"
#include "sql/key_spec.h"
#include "sql/sql_alter.h"
#include "sql/sql_class.h"
#include "sql/sql_error.h"
#include "sql/sql_lex.h"
#include "sql/table.h"

#include "plugin/server/error_map.h"

namespace rowan {
namespace {

bool AsksForForeignKey(THD* thd) {
  if (thd->lex == nullptr || thd->lex->alter_info == nullptr) return false;
  for (const Key_spec* key : thd->lex->alter_info->key_list) {
    if (key->type == KEYTYPE_FOREIGN) return true;
  }
  return false;
}

bool HasSpatialIndex(const TABLE& form) {
  const std::span<const KEY> keys(form.key_info, form.s->keys);
  return std::any_of(keys.begin(), keys.end(),
                     [](const KEY& key) { return (key.flags & HA_SPATIAL) != 0; });
}

bool IsTextIndex(const KEY& key) { return (key.flags & HA_FULLTEXT) != 0; }

/// Nothing would compute the column where an entry's text is needed again.
bool HasTextIndexOnVirtualColumn(const TABLE& form) {
  const std::span<const KEY> keys(form.key_info, form.s->keys);
  return std::any_of(keys.begin(), keys.end(), [](const KEY& key) {
    const std::span<const KEY_PART_INFO> parts(key.key_part, key.user_defined_key_parts);
    return IsTextIndex(key) &&
           std::any_of(parts.begin(), parts.end(),
                       [](const KEY_PART_INFO& part) { return part.field->is_virtual_gcol(); });
  });
}

/// LEX_STRING or LEX_CSTRING.
template <typename Text>
bool IsGiven(const Text& text) {
  return text.str != nullptr && text.length > 0;
}
bool IsGiven(const char* text) { return text != nullptr && *text != 0; }

Refusal RowFormatProblem(const HA_CREATE_INFO& info) {
  switch (info.row_type) {
    case ROW_TYPE_NOT_USED:
    case ROW_TYPE_DEFAULT:
    case ROW_TYPE_COMPACT:
    case ROW_TYPE_REDUNDANT:
    case ROW_TYPE_DYNAMIC: return {};
    default: return {"ROW_TYPE", "this ROW_FORMAT; rows are stored as in DYNAMIC"};
  }
}

bool WantsEncryption(const HA_CREATE_INFO& info) {
  return IsGiven(info.encrypt_type) && info.encrypt_type.str[0] != 'N' &&
         info.encrypt_type.str[0] != 'n';
}

bool WantsCompression(const HA_CREATE_INFO& info) {
  return IsGiven(info.compress) && strcasecmp(info.compress.str, "none") != 0;
}

Refusal TableOptionProblem(const HA_CREATE_INFO& info) {
  if (IsGiven(info.data_file_name)) {
    return {"DATA DIRECTORY", "DATA DIRECTORY: all files are in rowan_data_home_dir"};
  }
  if (IsGiven(info.index_file_name)) {
    return {"INDEX DIRECTORY", "INDEX DIRECTORY: all files are in rowan_data_home_dir"};
  }
  if (IsGiven(info.tablespace)) {
    return {"TABLESPACE", "TABLESPACE: each table has a file of its own"};
  }
  if (WantsEncryption(info)) return {"ENCRYPTION", "ENCRYPTION"};
  if (WantsCompression(info)) return {"COMPRESSION", "COMPRESSION"};
  // Also one that an ALTER ... ENGINE=ROWAN takes over from the old table.
  if (info.key_block_size != 0) {
    return {"KEY_BLOCK_SIZE", "KEY_BLOCK_SIZE; an ALTER can set it to 0"};
  }
  if (info.m_implicit_tablespace_autoextend_size != 0) {
    return {"AUTOEXTEND_SIZE",
            "AUTOEXTEND_SIZE: files grow in steps of their own; an ALTER can set it to 0"};
  }
  return RowFormatProblem(info);
}

}  // namespace

Refusal UnsupportedOption(THD* thd, const TABLE* form, const HA_CREATE_INFO& info) {
  if (!is_sql_fk_checks_enabled(thd) && AsksForForeignKey(thd)) {
    return {nullptr, "foreign keys with innodb_native_foreign_keys=ON"};
  }
  if (form->part_info != nullptr && HasSpatialIndex(*form)) {
    return {nullptr, "SPATIAL indexes of partitioned tables"};
  }
  if (HasTextIndexOnVirtualColumn(*form)) {
    return {nullptr, "FULLTEXT indexes on virtual columns"};
  }
  return TableOptionProblem(info);
}

int Refuse(THD* thd, const Refusal& refusal) {
  if (refusal.option == nullptr) return RefuseUnsupported(refusal.sentence);
  push_warning_printf(thd, Sql_condition::SL_WARNING, ER_ILLEGAL_HA_CREATE_OPTION,
                      "Rowan does not support %s", refusal.sentence.c_str());
  my_error(ER_ILLEGAL_HA_CREATE_OPTION, MYF(0), "ROWAN", refusal.option);
  return HA_ERR_UNSUPPORTED;
}

namespace {

void NoteIgnored(THD* thd, const char* option, const std::string& where) {
  push_warning_printf(thd, Sql_condition::SL_WARNING, ER_ILLEGAL_HA_CREATE_OPTION,
                      "Rowan ignores %s of %s", option, where.c_str());
}

bool HasMergeThreshold(const LEX_CSTRING& comment) {
  return IsGiven(comment) &&
         std::string_view(comment.str, comment.length).find("MERGE_THRESHOLD=") !=
             std::string_view::npos;
}

}  // namespace

void NoteIgnoredOptions(THD* thd, const TABLE* form, const HA_CREATE_INFO& info) {
  if (info.row_type == ROW_TYPE_COMPACT || info.row_type == ROW_TYPE_REDUNDANT) {
    NoteIgnored(thd, "the ROW_FORMAT", "the table");
  }
  if (HasMergeThreshold({info.comment.str, info.comment.length})) {
    NoteIgnored(thd, "MERGE_THRESHOLD in the comment", "the table");
  }
  for (uint i = 0; i < form->s->keys; ++i) {
    // KEY_BLOCK_SIZE of an index is a hint, of which InnoDB does not speak either.
    const KEY& key = form->key_info[i];
    if (!HasMergeThreshold({key.comment.str, key.comment.length})) continue;
    NoteIgnored(thd, "MERGE_THRESHOLD in the comment", std::string("index '") + key.name + "'");
  }
}

}  // namespace rowan
