// SPDX-License-Identifier: GPL-2.0-only
// What TextIndex takes from the server.
#include "mysql/plugin.h"
#include "mysql/plugin_ftparser.h"
#include "mysql/strings/m_ctype.h"
#include "plugin/codec/text_index.h"
#include "sql/key.h"
#include "sql/sql_plugin.h"

// innodb_ft_min_token_size and innodb_ft_max_token_size.
extern unsigned long fts_min_token_size;
extern unsigned long fts_max_token_size;

namespace rowan {

WordLimits ServerWordSizes() {
  return {static_cast<uint32_t>(fts_min_token_size), static_cast<uint32_t>(fts_max_token_size),
          true, nullptr};
}

TextIndex::TextIndex(const KEY& key, const CHARSET_INFO* charset, const WordLimits& limits)
    : TextIndex(key.user_defined_key_parts, charset, limits) {
  if ((key.flags & HA_USES_PARSER) == 0) return;
  parser_ = static_cast<st_mysql_ftparser*>(plugin_decl(key.parser)->info);
  parser_name_ = plugin_name(key.parser)->str;
  is_ngram_ = my_strcasecmp(&my_charset_latin1, parser_name_.c_str(), "ngram") == 0;
}

}  // namespace rowan
