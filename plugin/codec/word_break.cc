// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/codec/word_break.h"

#include <algorithm>

#include "mysql/strings/m_ctype.h"
#include "plugin/codec/collation_weights.h"

namespace rowan {
namespace {

const unsigned char* AsUnsigned(const std::byte* bytes) {
  return reinterpret_cast<const unsigned char*>(bytes);
}

/// Bytes of the character at the front, which `*in_word` says is one of a word.
size_t FirstCharacter(const CHARSET_INFO* charset, Bytes text, bool* in_word) {
  int type = 0;
  const unsigned char* begin = AsUnsigned(text.data());
  const int size = charset->cset->ctype(charset, &type, begin, begin + text.size());
  *in_word = (type & (MY_CHAR_U | MY_CHAR_L | MY_CHAR_NMR)) != 0 || *begin == '_';
  const auto bytes = static_cast<size_t>(size == 0 ? 1 : std::abs(size));
  return std::min(bytes, text.size());
}

}  // namespace

bool TakeWord(const CHARSET_INFO* charset, Bytes* text, WordPlace* word) {
  bool in_word = false;
  size_t begin = 0;
  size_t end = 0;
  while (begin < text->size()) {
    const size_t bytes = FirstCharacter(charset, text->subspan(begin), &in_word);
    if (in_word) break;
    begin += bytes;
  }
  word->characters = 0;
  for (end = begin; end < text->size(); ++word->characters) {
    const size_t bytes = FirstCharacter(charset, text->subspan(end), &in_word);
    if (!in_word) break;
    end += bytes;
  }
  word->bytes = text->subspan(begin, end - begin);
  *text = text->subspan(end);
  return word->characters != 0;
}

uint32_t CharacterCount(const CHARSET_INFO* charset, Bytes text) {
  const char* begin = reinterpret_cast<const char*>(text.data());
  return static_cast<uint32_t>(charset->cset->numchars(charset, begin, begin + text.size()));
}

void ToSmallLetters(const CHARSET_INFO* charset, Bytes text, std::string* small) {
  const char* begin = reinterpret_cast<const char*>(text.data());
  small->assign(begin, text.size());
  if ((charset->state & MY_CS_BINSORT) != 0) return;
  // Where letters keep their sizes, the server's function changes them in place only.
  std::string large;
  if (charset->casedn_multiply > 1) {
    large.swap(*small);
    small->resize(large.size() * charset->casedn_multiply);
  }
  char* source = large.empty() ? small->data() : large.data();
  small->resize(charset->cset->casedn(charset, source, text.size(), small->data(), small->size()));
}

void AppendWordWeights(const CHARSET_INFO* charset, Bytes small, std::string* weights) {
  const bool by_letters = charset->levels_for_compare > 1 || (charset->state & MY_CS_BINSORT) != 0;
  if (by_letters) {
    weights->append(reinterpret_cast<const char*>(small.data()), small.size());
    return;
  }
  const CollationWeights transformed(charset, small);
  const Bytes bytes = transformed.bytes();
  weights->append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

}  // namespace rowan
