// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/codec/stopwords.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <utility>

#include "base/bytes.h"
#include "base/format.h"
#include "my_sys.h"
#include "mysql/strings/m_ctype.h"
#include "plugin/codec/word_break.h"

// What INNODB_FT_DEFAULT_STOPWORD shows.
extern const char* fts_default_stopword[];

namespace rowan {
namespace {

std::string Converted(const std::string& text, const CHARSET_INFO* from, const CHARSET_INFO* to) {
  uint32_t errors = 0;
  std::string converted(text.size() * to->mbmaxlen, '\0');
  converted.resize(
      my_convert(converted.data(), converted.size(), to, text.data(), text.size(), from, &errors));
  return converted;
}

std::vector<std::string> SortedWeights(const CHARSET_INFO* charset,
                                       const std::vector<std::string>& words) {
  std::vector<std::string> all;
  for (const std::string& word : words) {
    std::string weights;
    AppendWordWeights(charset, AsBytes(word), &weights);
    all.push_back(std::move(weights));
  }
  std::sort(all.begin(), all.end());
  return all;
}

bool TakeByte(std::string_view* text, char* byte) {
  uint8_t value = 0;
  if (text->size() < 2) return false;
  const auto [end, error] = std::from_chars(text->data(), text->data() + 2, value, 16);
  if (error != std::errc() || end != text->data() + 2) return false;
  *byte = static_cast<char>(value);
  text->remove_prefix(2);
  return true;
}

}  // namespace

std::vector<std::string> DefaultStopwordWeights(const CHARSET_INFO* charset) {
  std::vector<std::string> words;
  for (const char** word = fts_default_stopword; *word != nullptr; ++word) {
    words.push_back(charset->mbminlen > 1 ? Converted(*word, &my_charset_latin1, charset) : *word);
  }
  return SortedWeights(charset, words);
}

Stopwords::Stopwords(const CHARSET_INFO* collation, std::vector<std::string> words)
    : collation_(collation), words_(std::move(words)) {
  std::sort(words_.begin(), words_.end());
  words_.erase(std::unique(words_.begin(), words_.end()), words_.end());
}

const CHARSET_INFO* Stopwords::ComparedIn(const CHARSET_INFO* index) const {
  return my_charset_same(collation_, index) ? collation_ : index;
}

std::vector<std::string> Stopwords::Weights(const CHARSET_INFO* index) const {
  const CHARSET_INFO* compared = ComparedIn(index);
  // Words of an index are in small letters: only where case counts may these keep theirs.
  const bool keeps_case = (compared->state & (MY_CS_BINSORT | MY_CS_CSSORT)) != 0;
  std::vector<std::string> words;
  for (const std::string& word : words_) {
    std::string text = compared == collation_ ? word : Converted(word, collation_, compared);
    if (!keeps_case) {
      std::string small;
      ToSmallLetters(compared, AsBytes(text), &small);
      text.swap(small);
    }
    words.push_back(std::move(text));
  }
  return SortedWeights(compared, words);
}

std::string Stopwords::Describe() const {
  std::string text = Format("{}:", collation_->number);
  for (const std::string& word : words_) {
    for (const char byte : word) text += Format("{:02x}", static_cast<uint8_t>(byte));
    text += ',';
  }
  return text;
}

std::shared_ptr<const Stopwords> Stopwords::Parse(std::string_view description) {
  const char* const end = description.data() + description.size();
  uint32_t number = 0;
  const auto [rest, error] = std::from_chars(description.data(), end, number);
  if (error != std::errc() || rest == end || *rest != ':') return nullptr;
  const CHARSET_INFO* collation = get_charset(number, MYF(0));
  if (collation == nullptr) return nullptr;
  description.remove_prefix(static_cast<size_t>(rest - description.data()) + 1);
  std::vector<std::string> words;
  for (std::string word; !description.empty(); word.clear()) {
    char byte = 0;
    while (TakeByte(&description, &byte)) word += byte;
    if (description.empty() || description.front() != ',') return nullptr;
    description.remove_prefix(1);
    words.push_back(word);
  }
  return std::make_shared<const Stopwords>(collation, std::move(words));
}

}  // namespace rowan
