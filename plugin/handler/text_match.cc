// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/handler/text_match.h"

#include "mysql/strings/m_ctype.h"
#include "sql/sql_class.h"
#include "sql/table.h"
#include "sql_string.h"

#include "base/key_prefix.h"

extern unsigned long fts_result_cache_limit;  // innodb_ft_result_cache_limit

namespace rowan {
namespace {

TextMatchState* StateOf(FT_INFO* info) {
  return static_cast<TextMatchState*>(reinterpret_cast<FT_INFO_EXT*>(info));
}

float FindRelevance(FT_INFO* info, unsigned char*, uint) { return StateOf(info)->FindRelevance(); }

float CurrentRelevance(FT_INFO* info) { return StateOf(info)->CurrentRelevance(); }

void Close(FT_INFO* info) { delete StateOf(info); }

uint Version() { return 2; }
ulonglong Abilities() { return FTS_ORDERED_RESULT; }
ulonglong DocumentId(FT_INFO_EXT*) { return 0; }  // not a declared ability
ulonglong CountMatches(FT_INFO_EXT* info) {
  return static_cast<TextMatchState*>(info)->result().matches.size();
}

/// Converts into the collation of the index.
std::string InCharset(const String& text, const CHARSET_INFO* charset) {
  std::string converted(text.length() * charset->mbmaxlen, '\0');
  uint errors = 0;
  converted.resize(my_convert(converted.data(), converted.size(), charset, text.ptr(),
                              text.length(), text.charset(), &errors));
  return converted;
}

_ft_vft basic_functions = {nullptr, FindRelevance, Close, CurrentRelevance, nullptr};
_ft_vft_ext further_functions = {Version, Abilities, DocumentId, CountMatches};

}  // namespace

TextMatchState::TextMatchState(TablePart* part, uint32_t index_number, uint flags,
                               const String& text)
    : part_(*part),
      index_number_(index_number),
      boolean_mode_((flags & FT_BOOL) != 0),
      expanded_((flags & FT_EXPAND) != 0),
      text_(InCharset(text, part->codec().TextIndexAt(index_number)->charset())) {
  please = &basic_functions;
  could_you = &further_functions;
}

Status TextMatchState::Find(Session* session, ReadMode mode) {
  const TextQuery query{.text = AsBytes(text_),
                        .boolean_mode = boolean_mode_,
                        .expand = expanded_,
                        .memory_bytes_max = fts_result_cache_limit};
  std::vector<uchar> record(part_.server_table()->s->reclength);
  const auto search = [&] {
    ReadOptions options;
    if (mode == ReadMode::kReadUncommitted) options.mode = mode;
    TableTextSource source(session, part_.table(), &part_.codec(), index_number_, record.data(),
                           options);
    Result<TextSearchResult> found = SearchText(index(), query, &source);
    if (!found.ok()) return found.status();
    result_ = std::move(found).value();
    return Status::Ok();
  };
  // Locking reads see what is committed now. Optimistic ones lock nothing newer than the snapshot.
  const bool locks = mode == ReadMode::kLockShared || mode == ReadMode::kLockExclusive;
  return locks && !session->optimistic() ? session->ReadFresh(search) : search();
}

Status TextMatchState::PassNext() {
  if (next_ == result_.matches.size()) return Status(Code::kEndOfRange);
  ++next_;
  return Status::Ok();
}

Status TextMatchState::ReadNext(ReadMode mode, uchar* record) {
  const Status passed = PassNext();
  if (!passed.ok()) return passed;
  const Bytes key = result_.keys.KeyOf(result_.matches[next_ - 1].document);
  const Status read = part_.reader()->GetRow(key, record);
  if (!read.ok() || mode == ReadMode::kSnapshot) return read;
  bool matches = true;
  const Status looked = StillMatches(record, &matches);
  if (!looked.ok() || matches) return looked;
  part_.reader()->UnlockCurrent();
  return Status(Code::kNotFound);
}

Status TextMatchState::StillMatches(const uchar* record, bool* matches) const {
  // An expanded query finds rows by words known only to the search.
  if (expanded_) return Status::Ok();
  RowTextSource source(&part_.codec(), index_number_, record);
  const Status status = source.Read();
  if (!status.ok()) return status;
  const TextQuery query{.text = AsBytes(text_), .boolean_mode = boolean_mode_};
  Result<TextSearchResult> found = SearchText(index(), query, &source);
  if (!found.ok()) return found.status();
  *matches = !found->matches.empty();
  return Status::Ok();
}

float TextMatchState::CurrentRelevance() const {
  return next_ == 0 ? 0 : result_.matches[next_ - 1].relevance;
}

float TextMatchState::FindRelevance() { return result_.RelevanceOf(part_.reader()->row_key()); }

TableTextSource::TableTextSource(Session* session, Table* table, const TableCodec* codec,
                                 uint32_t index_number, unsigned char* record,
                                 const ReadOptions& options)
    : table_(table),
      codec_(codec),
      index_number_(index_number),
      record_(record),
      cursor_(session, table, codec, options) {}

Status TableTextSource::VisitWord(std::string_view weights, bool is_prefix, VisitEntry visit) {
  ByteBuffer from;
  AppendWordKey(weights, is_prefix, &from);
  ByteBuffer end;
  PrefixSuccessor(from, &end);
  return cursor_.VisitEntries(index_number_, {from, end}, [&](Bytes key, Bytes payload) {
    const size_t word_bytes = WordKeyBytes(key);
    if (word_bytes == 0) return Status(Code::kCorrupt, "malformed entry of a full-text index");
    return visit(key.subspan(word_bytes), payload);
  });
}

Status TableTextSource::VisitRow(Bytes row_key, TextIndex::Visit visit) {
  const Status status = cursor_.GetRow(row_key, record_);
  if (!status.ok()) return status;
  uint32_t place = 0;
  return codec_->VisitText(index_number_, record_, [&](Bytes text) {
    return codec_->TextIndexAt(index_number_)->VisitWords(text, &place, visit);
  });
}

uint64_t TableTextSource::RowCount() {
  constexpr uint64_t kCountedRowsMax = 2000;  // a tenth of a millisecond
  const uint64_t estimate = table_->statistics().rows;
  if (estimate > kCountedRowsMax) return estimate;
  Result<uint64_t> counted = cursor_.CountEntries(0);
  return counted.ok() ? *counted : estimate;
}

Status RowTextSource::Read() {
  EncodedEntry buffer;
  return codec_->EncodeEntries(index_number_, record_, {}, &buffer,
                               [this](const EncodedEntry& entry) {
                                 entries_.push_back(entry);
                                 return Status::Ok();
                               });
}

Status RowTextSource::VisitWord(std::string_view weights, bool is_prefix, VisitEntry visit) {
  ByteBuffer wanted;
  AppendWordKey(weights, is_prefix, &wanted);
  for (const EncodedEntry& entry : entries_) {
    const Bytes key = entry.key;
    if (key.size() < wanted.size() || !EqualBytes(key.first(wanted.size()), wanted)) continue;
    const Status status = visit({}, entry.payload);
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

Status RowTextSource::VisitRow(Bytes, TextIndex::Visit visit) {
  uint32_t place = 0;
  return codec_->VisitText(index_number_, record_, [&](Bytes text) {
    return codec_->TextIndexAt(index_number_)->VisitWords(text, &place, visit);
  });
}

}  // namespace rowan
