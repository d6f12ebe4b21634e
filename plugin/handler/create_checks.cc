// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/handler/create_checks.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <string_view>

#include "mysqld_error.h"
#include "sql/derror.h"
#include "sql/handler.h"
#include "sql/key_spec.h"
#include "sql/sql_alter.h"
#include "sql/sql_class.h"
#include "sql/sql_error.h"
#include "sql/sql_lex.h"
#include "sql/table.h"

#include "plugin/compat/server_line.h"
#include "plugin/handler/data_directory.h"
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

/// Nothing would compute the column when an entry's text is needed again.
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

/// A row format that InnoDB lacks, too.
bool IsForeignRowFormat(row_type format) {
  return format == ROW_TYPE_FIXED || format == ROW_TYPE_PAGED;
}

bool IsKnownCompression(const LEX_STRING& name) {
  constexpr std::array<const char*, 3> kKnown = {"none", "zlib", "lz4"};
  return !IsGiven(name) || std::any_of(kKnown.begin(), kKnown.end(), [&](const char* known) {
    return strcasecmp(name.str, known) == 0;
  });
}

bool WantsEncryption(const HA_CREATE_INFO& info) {
  return IsGiven(info.encrypt_type) && info.encrypt_type.str[0] != 'N' &&
         info.encrypt_type.str[0] != 'n';
}

bool WantsCompression(const HA_CREATE_INFO& info) {
  return IsGiven(info.compress) && strcasecmp(info.compress.str, "none") != 0;
}

/// Options that make no sense, even as hints. Those that an ALTER keeps were accepted before.
Refusal SenselessOption(const HA_CREATE_INFO& info) {
  const bool format =
      (info.used_fields & HA_CREATE_USED_ROW_FORMAT) != 0 && IsForeignRowFormat(info.row_type);
  const bool compression =
      (info.used_fields & HA_CREATE_USED_COMPRESS) != 0 && !IsKnownCompression(info.compress);
  if ((!format && !compression) || !RefusesOptions()) return {};
  if (format) return {"ROW_TYPE", "this ROW_FORMAT; rows are stored as in DYNAMIC"};
  return {"COMPRESSION", "this COMPRESSION"};
}

Refusal TableOptionProblem(const HA_CREATE_INFO& info) {
  const bool is_temporary = (info.options & HA_LEX_CREATE_TMP_TABLE) != 0;
  if (is_temporary && IsGiven(info.data_file_name) && RefusesOptions()) {
    return {"DATA DIRECTORY", "DATA DIRECTORY for temporary tables"};
  }
  if (IsGiven(info.index_file_name) && RefusesOptions()) {
    return {"INDEX DIRECTORY", "INDEX DIRECTORY: a table's indexes are in its file"};
  }
  if (IsGiven(info.tablespace) && !IsFilePerTable(info.tablespace)) {
    return {"TABLESPACE", "TABLESPACE: each table has a file of its own"};
  }
  if (WantsEncryption(info)) return {"ENCRYPTION", "ENCRYPTION"};
  return SenselessOption(info);
}

}  // namespace

bool IsFilePerTable(const char* tablespace) {
  return tablespace != nullptr && strcmp(tablespace, "innodb_file_per_table") == 0;
}

Refusal UnsupportedOption(THD* thd, const TABLE* form, const HA_CREATE_INFO& info) {
  if (!ChecksForeignKeys(thd) && AsksForForeignKey(thd)) {
    return {nullptr, kRefusedKeys};
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

/// In the server's form.
void NoteOptionIgnored(THD* thd, const char* option) {
  push_warning_printf(thd, Sql_condition::SL_WARNING, WARN_OPTION_IGNORED,
                      ER_THD(thd, WARN_OPTION_IGNORED), option);
}

bool HasMergeThreshold(const LEX_CSTRING& comment) {
  return IsGiven(comment) &&
         std::string_view(comment.str, comment.length).find("MERGE_THRESHOLD=") !=
             std::string_view::npos;
}

}  // namespace

void NoteIgnoredOptions(THD* thd, const TABLE* form, const HA_CREATE_INFO& info) {
  const auto note = [&](bool given, const char* option) {
    if (given) NoteIgnored(thd, option, "the table");
  };
  note(info.row_type != ROW_TYPE_NOT_USED && info.row_type != ROW_TYPE_DEFAULT &&
           info.row_type != ROW_TYPE_DYNAMIC,
       "the ROW_FORMAT");
  note(info.key_block_size != 0, "the KEY_BLOCK_SIZE");
  note(WantsCompression(info), "the COMPRESSION");
  note(info.m_implicit_tablespace_autoextend_size != 0, "the AUTOEXTEND_SIZE");
  note(HasMergeThreshold({info.comment.str, info.comment.length}),
       "MERGE_THRESHOLD in the comment");
  if (IsGiven(info.index_file_name)) NoteOptionIgnored(thd, "INDEX DIRECTORY");
  for (uint i = 0; i < form->s->keys; ++i) {
    // KEY_BLOCK_SIZE of an index is a hint that InnoDB does not mention either.
    const KEY& key = form->key_info[i];
    if (!HasMergeThreshold({key.comment.str, key.comment.length})) continue;
    NoteIgnored(thd, "MERGE_THRESHOLD in the comment", std::string("index '") + key.name + "'");
  }
}

}  // namespace rowan
