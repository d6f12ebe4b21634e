// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/handler/text_match.h"

#include "base/key_prefix.h"

namespace rowan {
namespace {

TextMatchState* StateOf(FT_INFO* info) {
  return static_cast<TextMatchState*>(reinterpret_cast<FT_INFO_EXT*>(info));
}

float FindRelevance(FT_INFO* info, unsigned char*, uint) {
  TextMatchState* state = StateOf(info);
  return state->result.RelevanceOf(state->reader->row_key());
}

float CurrentRelevance(FT_INFO* info) { return StateOf(info)->CurrentRelevance(); }

void Close(FT_INFO* info) { delete StateOf(info); }

uint Version() { return 2; }
ulonglong Abilities() { return FTS_ORDERED_RESULT; }
ulonglong DocumentId(FT_INFO_EXT*) { return 0; }  // not among the abilities
ulonglong CountMatches(FT_INFO_EXT* info) {
  return static_cast<TextMatchState*>(info)->result.matches.size();
}

_ft_vft basic_functions = {nullptr, FindRelevance, Close, CurrentRelevance, nullptr};
_ft_vft_ext further_functions = {Version, Abilities, DocumentId, CountMatches};

}  // namespace

TextMatchState::TextMatchState() {
  please = &basic_functions;
  could_you = &further_functions;
}

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
