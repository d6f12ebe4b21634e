// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/codec/collation_weights.h"

#include <algorithm>
#include <cstring>

#include "mysql/strings/m_ctype.h"

namespace rowan {
namespace {

// Numbers of collations, which the server never changes.
constexpr unsigned kBig5ChineseCi = 1;
constexpr unsigned kLatin2CzechCs = 2;
constexpr unsigned kCp1250CzechCs = 34;
constexpr unsigned kGb18030ChineseCi = 248;

/// Bytes per character where characters are compared as numbers; 0: bytes are compared.
size_t CharacterWidth(const CHARSET_INFO* charset) {
  switch (charset->number) {
    case kBig5ChineseCi: return 2;
    case kGb18030ChineseCi: return 4;
    default: return 0;
  }
}

}  // namespace

PadOrder PadOrderOf(const CHARSET_INFO* charset) {
  // Several levels of weights follow each other in these.
  const bool levels = charset->number == kLatin2CzechCs || charset->number == kCp1250CzechCs;
  return levels ? PadOrder::kTrimmed : PadOrder::kEndlessSpaces;
}

CollationWeights::CollationWeights(const CHARSET_INFO* charset, Bytes text) {
  const size_t width = CharacterWidth(charset);
  if (width == 0) {
    AppendWhole(charset, text);
  } else {
    AppendCharacters(charset, text, width);
  }
}

void CollationWeights::Reserve(size_t size) {
  if (size > local_.size()) {
    large_.reset(new std::byte[size]);
    data_ = large_.get();
  } else {
    data_ = local_.data();
  }
}

void CollationWeights::AppendWhole(const CHARSET_INFO* charset, Bytes text) {
  // strnxfrmlen wants the byte length as if every character had the maximum width.
  size_t room = charset->coll->strnxfrmlen(charset, text.size() * charset->mbmaxlen);
  room += room % 2 + 2;  // some collations insist on an even size
  Reserve(room);
  const auto* source = reinterpret_cast<const uint8_t*>(text.data());
  const char* begin = reinterpret_cast<const char*>(text.data());
  // Exactly as many code points as the text has, so that PAD SPACE collations add no padding.
  const size_t characters = charset->mbmaxlen == 1
                                ? text.size()
                                : charset->cset->numchars(charset, begin, begin + text.size());
  size_ = charset->coll->strnxfrm(charset, reinterpret_cast<uint8_t*>(data_), room,
                                  static_cast<unsigned>(characters), source, text.size(), 0);
}

void CollationWeights::AppendCharacters(const CHARSET_INFO* charset, Bytes text, size_t width) {
  Reserve(text.size() * width);
  const char* position = reinterpret_cast<const char*>(text.data());
  const char* end = position + text.size();
  while (position < end) {
    const size_t size = std::max<size_t>(charset->cset->ismbchar(charset, position, end), 1);
    std::array<uint8_t, 8> weight;
    const auto* source = reinterpret_cast<const uint8_t*>(position);
    size_t weight_bytes = size;
    if (charset->number == kBig5ChineseCi && size > 1) {
      std::memcpy(weight.data(), source, size);  // it compares codes, but transforms to strokes
    } else {
      weight_bytes =
          charset->coll->strnxfrm(charset, weight.data(), weight.size(), 1, source, size, 0);
    }
    std::memset(data_ + size_, 0, width - weight_bytes);
    // A dotless i weighs as much as an I, and yet is greater than all characters of one byte.
    if (size > 1 && weight_bytes == 1) data_[size_ + width - 2] = std::byte{1};
    std::memcpy(data_ + size_ + width - weight_bytes, weight.data(), weight_bytes);
    size_ += width;
    position += size;
  }
}

}  // namespace rowan
