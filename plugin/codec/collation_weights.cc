// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/codec/collation_weights.h"

#include "mysql/strings/m_ctype.h"

namespace rowan {

CollationWeights::CollationWeights(const CHARSET_INFO* charset, Bytes text) {
  // strnxfrmlen wants the byte length as if every character had the maximum width.
  size_t room = charset->coll->strnxfrmlen(charset, text.size() * charset->mbmaxlen);
  room += room % 2 + 2;  // some collations insist on an even size
  if (room > local_.size()) {
    large_.reset(new std::byte[room]);
    data_ = large_.get();
  } else {
    data_ = local_.data();
  }
  const auto* source = reinterpret_cast<const uint8_t*>(text.data());
  const char* begin = reinterpret_cast<const char*>(text.data());
  // Exactly as many code points as the text has, so that PAD SPACE collations add no padding.
  const size_t characters = charset->mbmaxlen == 1
                                ? text.size()
                                : charset->cset->numchars(charset, begin, begin + text.size());
  size_ = charset->coll->strnxfrm(charset, reinterpret_cast<uint8_t*>(data_), room,
                                  static_cast<unsigned>(characters), source, text.size(), 0);
}

}  // namespace rowan
