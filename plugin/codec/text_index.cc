// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/codec/text_index.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include <xxhash.h>

#include "base/format.h"
#include "mysql/plugin_ftparser.h"
#include "mysql/strings/m_ctype.h"
#include "plugin/codec/word_break.h"

namespace rowan {
namespace {

constexpr std::string_view kParserProbe = "The quick brown fox, said foxes_9 of 2010: abcdefgh";
constexpr std::string_view kTextMark = "|text:";
constexpr std::string_view kStopwordsMark = "|stopwords:";
constexpr uint64_t kOwnStopwords = 2;

bool TakeNumber(std::string_view* text, uint64_t* number) {
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), *number);
  if (error != std::errc() || end == text->data() + text->size() || *end != ':') return false;
  text->remove_prefix(static_cast<size_t>(end - text->data()) + 1);
  return true;
}

}  // namespace

/// State passed through the callbacks of a parser plugin, which knows nothing about Status.
struct TextIndex::Parse {
  const TextIndex* index = nullptr;
  uint32_t* place = nullptr;
  const Visit* visit = nullptr;  ///< outlives the parsing
  Status status{};
  std::string small{};
  std::string weights{};
  bool first = true;

  bool Add(Bytes word, uint32_t characters) {
    ToSmallLetters(index->charset_, word, &small);
    weights.clear();
    AppendWordWeights(index->charset_, AsBytes(small), &weights);
    const bool in_index = index->HasWord(AsBytes(small), weights, characters);
    status = (*visit)({small, weights, (*place)++, in_index, std::exchange(first, false)});
    return status.ok();
  }
};

TextIndex::TextIndex(uint32_t columns, const CHARSET_INFO* charset, const WordLimits& limits)
    : charset_(charset), columns_(columns), compares_(charset) {
  SetLimits(limits);
}

void TextIndex::SetLimits(WordLimits limits) {
  limits_ = std::move(limits);
  stopwords_.clear();
  compares_ = charset_;
  if (!limits_.leaves_out_stopwords) return;
  if (limits_.stopwords == nullptr) {
    stopwords_ = DefaultStopwordWeights(charset_);
    return;
  }
  compares_ = limits_.stopwords->ComparedIn(charset_);
  stopwords_ = limits_.stopwords->Weights(charset_);
}

std::string TextIndex::Describe() const {
  const bool has_own = limits_.leaves_out_stopwords && limits_.stopwords != nullptr;
  const uint64_t leaves_out = has_own ? kOwnStopwords : uint64_t{limits_.leaves_out_stopwords};
  std::string text = Format("{}{}:{}:{}:{}:{}", kTextMark, limits_.characters_min,
                            limits_.characters_max, leaves_out, ParserFingerprint(), parser_name_);
  if (has_own) text.append(kStopwordsMark).append(limits_.stopwords->Describe());
  return text;
}

bool TextIndex::Restore(std::string_view description) {
  const size_t mark = description.rfind(kTextMark);
  if (mark == std::string_view::npos) return false;
  description.remove_prefix(mark + kTextMark.size());
  uint64_t shortest = 0;
  uint64_t longest = 0;
  uint64_t leaves_out = 0;
  if (!TakeNumber(&description, &shortest) || !TakeNumber(&description, &longest) ||
      !TakeNumber(&description, &leaves_out)) {
    return false;
  }
  WordLimits limits{static_cast<uint32_t>(shortest), static_cast<uint32_t>(longest),
                    leaves_out != 0, nullptr};
  if (leaves_out == kOwnStopwords) {
    const size_t words = description.rfind(kStopwordsMark);
    if (words == std::string_view::npos) return false;
    limits.stopwords = Stopwords::Parse(description.substr(words + kStopwordsMark.size()));
    if (limits.stopwords == nullptr) return false;
  }
  SetLimits(std::move(limits));
  return true;
}

uint64_t TextIndex::ParserFingerprint() const {
  if (parser_ == nullptr) return 0;
  XXH64_hash_t sum = 0;
  uint32_t place = 0;
  std::string probe(kParserProbe);
  if (charset_->mbminlen > 1) {
    uint32_t errors = 0;
    std::string wide(probe.size() * charset_->mbmaxlen, '\0');
    wide.resize(my_convert(wide.data(), wide.size(), charset_, probe.data(), probe.size(),
                           &my_charset_latin1, &errors));
    probe = wide;
  }
  const auto note = [&sum](const Word& word) {
    sum = XXH3_64bits_withSeed(word.weights.data(), word.weights.size(), sum);
    return Status::Ok();
  };
  return VisitWords(AsBytes(probe), &place, note).ok() ? sum : 0;
}

bool TextIndex::HasWord(Bytes small, std::string_view weights, uint32_t characters) const {
  if (small.empty() || small.size() > kWordBytesMax) return false;
  if (is_ngram_) return !limits_.leaves_out_stopwords || !HasStopword(small);
  if (characters < limits_.characters_min || characters > limits_.characters_max) return false;
  return !limits_.leaves_out_stopwords || !IsStopword(small, weights);
}

bool TextIndex::IsStopword(Bytes small, std::string_view weights) const {
  if (compares_ == charset_) {
    return std::binary_search(stopwords_.begin(), stopwords_.end(), weights);
  }
  std::string compared;
  AppendWordWeights(compares_, small, &compared);
  return std::binary_search(stopwords_.begin(), stopwords_.end(), compared);
}

/// A gram is left out when any part of it between spaces is a word to be left out.
bool TextIndex::HasStopword(Bytes gram) const {
  std::string weights;
  const auto is_stopword = [&](Bytes part) {
    weights.clear();
    AppendWordWeights(compares_, part, &weights);
    return std::binary_search(stopwords_.begin(), stopwords_.end(), weights);
  };
  const std::string_view text = AsText(gram);
  std::vector<size_t> starts;
  for (size_t at = 0; at < text.size();) {
    if (text[at] == ' ') {
      starts.clear();
      ++at;
      continue;
    }
    starts.push_back(at);
    at += std::max<size_t>(my_mbcharlen_ptr(charset_, text.data() + at, text.data() + text.size()),
                           1);
    at = std::min(at, text.size());
    for (const size_t start : starts) {
      if (is_stopword(gram.subspan(start, at - start))) return true;
    }
  }
  return false;
}

Status TextIndex::VisitWords(Bytes text, uint32_t* place, Visit visit) const {
  Parse parse{.index = this, .place = place, .visit = &visit};
  if (parser_ != nullptr) return ParseByPlugin(text, &parse);
  WordPlace word;
  while (TakeWord(charset_, &text, &word)) {
    if (!parse.Add(word.bytes, word.characters)) return parse.status;
  }
  return Status::Ok();
}

Status TextIndex::ParseByPlugin(Bytes text, Parse* parse) const {
  MYSQL_FTPARSER_PARAM parameters{};
  parameters.mysql_add_word = [](MYSQL_FTPARSER_PARAM* state, char* word, int size,
                                 MYSQL_FTPARSER_BOOLEAN_INFO*) {
    auto* target = static_cast<Parse*>(state->mysql_ftparam);
    const Bytes bytes = AsBytes({word, static_cast<size_t>(size)});
    return target->Add(bytes, CharacterCount(state->cs, bytes)) ? 0 : 1;
  };
  parameters.mysql_parse = [](MYSQL_FTPARSER_PARAM* state, char* document, int size) {
    Bytes rest = AsBytes({document, static_cast<size_t>(size)});
    WordPlace word;
    MYSQL_FTPARSER_BOOLEAN_INFO info{FT_TOKEN_WORD, 0, 0, 0, 0, 0, ' ', nullptr};
    while (TakeWord(state->cs, &rest, &word)) {
      const auto* bytes = reinterpret_cast<const char*>(word.bytes.data());
      info.position = static_cast<int>(bytes - document);
      const int failed = state->mysql_add_word(state, const_cast<char*>(bytes),
                                               static_cast<int>(word.bytes.size()), &info);
      if (failed != 0) return failed;
    }
    return 0;
  };
  parameters.mysql_ftparam = parse;
  parameters.cs = charset_;
  parameters.doc = const_cast<char*>(reinterpret_cast<const char*>(text.data()));
  parameters.length = static_cast<int>(text.size());
  parameters.mode = MYSQL_FTPARSER_SIMPLE_MODE;
  if (parser_->init != nullptr && parser_->init(&parameters) != 0) {
    return Status(Code::kUnsupported, "the full-text parser failed");
  }
  const int failed = parser_->parse(&parameters);
  if (parser_->deinit != nullptr) parser_->deinit(&parameters);
  if (!parse->status.ok()) return parse->status;
  return failed == 0 ? Status::Ok() : Status(Code::kUnsupported, "the full-text parser failed");
}

// --- entries ---

Status RowWords::Add(Bytes text) {
  const WordPosition column = WordPosition{column_++} << 32;
  return index_->VisitWords(text, &place_, [&](const TextIndex::Word& word) {
    if (!word.in_index) return Status::Ok();
    auto found = places_.find(word.weights);
    if (found == places_.end()) found = places_.emplace(word.weights, 0).first;
    found->second.push_back(column | word.place);
    return Status::Ok();
  });
}

Status RowWords::VisitEntries(Bytes clustered_key, const EntryRoom& room, EncodedEntry* buffer,
                              RowCodec::EntryVisit visit) const {
  buffer->unique_prefix_bytes = 0;
  for (const auto& [weights, places] : places_) {
    ByteBuffer* payload = &buffer->payload;
    buffer->key.clear();
    payload->clear();
    AppendWordKey(weights, false, &buffer->key);
    buffer->key.insert(buffer->key.end(), clustered_key.begin(), clustered_key.end());
    if (buffer->key.size() > room.key_bytes) continue;
    std::byte number[kVarintBytesMax];
    const auto put = [&](uint64_t value) {
      payload->insert(payload->end(), number, PutVarint(number, value));
    };
    put(places.size());
    uint32_t last = 0;
    for (const WordPosition position : places) {
      if (buffer->key.size() + payload->size() + kVarintBytesMax > room.entry_bytes) break;
      put(uint64_t{PlaceOf(position) - last} * index_->columns() + (position >> 32));
      last = PlaceOf(position);
    }
    const Status status = visit(*buffer);
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

void AppendWordKey(std::string_view weights, bool prefix, ByteBuffer* key) {
  for (const char byte : weights) {
    key->push_back(static_cast<std::byte>(byte));
    if (byte == 0) key->push_back(std::byte{0xFF});
  }
  if (!prefix) key->insert(key->end(), 2, std::byte{0});
}

size_t WordKeyBytes(Bytes key) {
  for (size_t i = 0; i + 1 < key.size(); ++i) {
    if (key[i] != std::byte{0}) continue;
    if (key[i + 1] == std::byte{0}) return i + 2;
    ++i;
  }
  return 0;
}

bool CountPlaces(Bytes payload, uint32_t* count) {
  uint64_t number = 0;
  if (GetVarint(payload.data(), payload.data() + payload.size(), &number) == nullptr) return false;
  *count = static_cast<uint32_t>(number);
  return true;
}

bool ReadPlaces(Bytes payload, uint32_t columns, std::vector<WordPosition>* places,
                bool* complete) {
  places->clear();
  const std::byte* end = payload.data() + payload.size();
  uint64_t count = 0;
  const std::byte* position = GetVarint(payload.data(), end, &count);
  uint64_t place = 0;
  while (position != nullptr && position < end) {
    uint64_t step = 0;
    position = GetVarint(position, end, &step);
    place += step / columns;
    places->push_back((step % columns) << 32 | place);
  }
  *complete = places->size() == count;
  return position != nullptr;
}

}  // namespace rowan
