// SPDX-License-Identifier: GPL-2.0-only
// MATCH ... AGAINST (docs/fulltext.md).
#include "plugin/server/abi_guard.h"

#include "plugin/handler/ha_rowan.h"

#include "mysqld_error.h"
#include "sql/sql_class.h"

#include "plugin/handler/text_match.h"
#include "plugin/server/error_map.h"
#include "plugin/server/instance.h"

extern unsigned long fts_result_cache_limit;  // innodb_ft_result_cache_limit

namespace rowan {
namespace {

/// Into the collation of the index.
std::string InCharset(const String& text, const CHARSET_INFO* charset) {
  std::string converted(text.length() * charset->mbmaxlen, '\0');
  uint errors = 0;
  converted.resize(my_convert(converted.data(), converted.size(), charset, text.ptr(),
                              text.length(), text.charset(), &errors));
  return converted;
}

bool IsLocking(ReadMode mode) {
  return mode == ReadMode::kLockShared || mode == ReadMode::kLockExclusive;
}

}  // namespace

FT_INFO* ha_rowan::ft_init_ext(uint flags, uint key_number, String* key) {
  const bool has_index =
      key_number < table->s->keys && (table->key_info[key_number].flags & HA_FULLTEXT) != 0;
  if (!has_index) {
    my_error(ER_TABLE_HAS_NO_FT, MYF(0));
    return nullptr;
  }
  auto match = std::make_unique<TextMatchState>();
  match->index_number = codec().IndexNumberOfKey(key_number);
  match->reader = reader();
  match->boolean_mode = (flags & FT_BOOL) != 0;
  match->expanded = (flags & FT_EXPAND) != 0;
  match->text = InCharset(*key, codec().TextIndexAt(match->index_number)->charset());
  const Status status = FindMatches(match.get());
  if (!status.ok()) {
    // What is found is held in memory: innodb_ft_result_cache_limit.
    const int error =
        status.Is(Code::kTooBig) ? HA_ERR_FTS_EXCEED_RESULT_CACHE_LIMIT : Fail(status);
    handler::print_error(error, MYF(0));
    return nullptr;
  }
  if (!match->result.problem.empty()) {
    my_printf_error(ER_PARSE_ERROR, "%s", MYF(0), match->result.problem.c_str());
  }
  searches_text_ = true;
  return reinterpret_cast<FT_INFO*>(static_cast<FT_INFO_EXT*>(match.release()));
}

Status ha_rowan::FindMatches(TextMatchState* match) {
  const TextQuery query{.text = AsBytes(match->text),
                        .boolean_mode = match->boolean_mode,
                        .expand = match->expanded,
                        .memory_bytes_max = fts_result_cache_limit};
  const TextIndex& index = *codec().TextIndexAt(match->index_number);
  std::vector<uchar> record(table->s->reclength);
  const auto search = [&] {
    ReadOptions options;
    if (read_options_.mode == ReadMode::kReadUncommitted) options.mode = read_options_.mode;
    TableTextSource source(session_, engine_table(), &codec(), match->index_number, record.data(),
                           options);
    Result<TextSearchResult> found = SearchText(index, query, &source);
    if (!found.ok()) return found.status();
    match->result = std::move(found).value();
    return Status::Ok();
  };
  // Locking reads see what is committed at the moment. Optimistic ones lock nothing newer than the
  // snapshot.
  const bool fresh = IsLocking(read_options_.mode) && !session_->optimistic();
  return fresh ? session_->ReadFresh(search) : search();
}

int ha_rowan::ft_init() {
  if (ft_handler == nullptr) return HA_ERR_WRONG_COMMAND;
  auto* match = static_cast<TextMatchState*>(reinterpret_cast<FT_INFO_EXT*>(ft_handler));
  match->next = 0;
  PrepareRead();
  // StillMatches needs the texts, whatever the statement names.
  if (read_options_.mode != ReadMode::kSnapshot) reader()->SetColumns(nullptr, RowKeys::kKeep);
  return 0;
}

int ha_rowan::ft_read(uchar* record) {
  auto* match = static_cast<TextMatchState*>(reinterpret_cast<FT_INFO_EXT*>(ft_handler));
  // The server asks only for their number, or their relevance.
  const bool without_rows =
      keyread_ && read_options_.mode == ReadMode::kSnapshot && bitmap_is_clear_all(table->read_set);
  while (match->next < match->result.matches.size()) {
    const Bytes key = match->result.keys.KeyOf(match->result.matches[match->next].document);
    ++match->next;
    if (without_rows) return 0;
    const Status status = ReadMatch(*match, key, record);
    if (status.ok()) return 0;
    if (!status.Is(Code::kNotFound)) return Fail(status);
    if (thd_killed(ha_thd()) != 0) return HA_ERR_QUERY_INTERRUPTED;
  }
  return HA_ERR_END_OF_FILE;
}

Status ha_rowan::ReadMatch(const TextMatchState& match, Bytes key, uchar* record) {
  const Status read = reader()->GetRow(key, record);
  if (!read.ok() || read_options_.mode == ReadMode::kSnapshot) return read;
  bool matches = true;
  const Status looked = StillMatches(match, record, &matches);
  if (!looked.ok() || matches) return looked;
  reader()->UnlockCurrent();
  return Status(Code::kNotFound);
}

Status ha_rowan::StillMatches(const TextMatchState& match, const uchar* record, bool* matches) {
  // An expanded query finds rows by words that only the search knows.
  if (match.expanded) return Status::Ok();
  RowTextSource source(&codec(), match.index_number, record);
  const Status status = source.Read();
  if (!status.ok()) return status;
  const TextQuery query{.text = AsBytes(match.text), .boolean_mode = match.boolean_mode};
  Result<TextSearchResult> found =
      SearchText(*codec().TextIndexAt(match.index_number), query, &source);
  if (!found.ok()) return found.status();
  *matches = !found->matches.empty();
  return Status::Ok();
}

}  // namespace rowan
