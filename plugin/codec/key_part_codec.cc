// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/codec/key_part_codec.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/format.h"
#include "mysql/strings/m_ctype.h"
#include "plugin/codec/collation_weights.h"

namespace rowan {
namespace {

constexpr std::byte kEscape{0x00};
constexpr std::byte kEscapedZero{0xFF};
constexpr std::byte kNullMark{0};
constexpr std::byte kValueMark{1};

void AppendBigEndian(Bytes little_endian, bool flip_sign, std::vector<std::byte>* key) {
  const size_t start = key->size();
  key->resize(start + little_endian.size());
  std::reverse_copy(little_endian.begin(), little_endian.end(), key->begin() + start);
  if (flip_sign) (*key)[start] ^= std::byte{0x80};
}

template <typename Real, typename Word>
void AppendReal(Bytes value, std::vector<std::byte>* key) {
  Real real;
  std::memcpy(&real, value.data(), sizeof(real));
  if (real == 0) real = 0;  // -0 equals 0 and must sort as 0
  Word word;
  std::memcpy(&word, &real, sizeof(word));
  constexpr Word kSign = Word{1} << (sizeof(Word) * 8 - 1);
  word = (word & kSign) != 0 ? static_cast<Word>(~word) : static_cast<Word>(word | kSign);
  std::byte bytes[sizeof(Word)];
  StoreLe<Word>(bytes, word);
  AppendBigEndian({bytes, sizeof(bytes)}, false, key);
}

void AppendEscaped(Bytes value, std::vector<std::byte>* key) {
  size_t position = key->size();
  key->resize(position + 2 * value.size() + 2);  // worst case; cut below
  std::byte* target = key->data();
  for (const std::byte byte : value) {
    target[position++] = byte;
    if (byte == kEscape) target[position++] = kEscapedZero;
  }
  target[position++] = kEscape;
  target[position++] = kEscape;
  key->resize(position);
}

/// Encoded size of an escaped string including its end; 0 when the end is missing.
size_t EscapedSize(Bytes key, std::byte mask) {
  for (size_t i = 0; i + 1 < key.size(); ++i) {
    if ((key[i] ^ mask) != kEscape) continue;
    if ((key[i + 1] ^ mask) == kEscape) return i + 2;
    ++i;
  }
  return 0;
}

void AppendPadded(const KeyPartCodec& part, Bytes weights, std::vector<std::byte>* key) {
  const size_t unit = part.space_unit_bytes;
  const auto is_space = [&](size_t at) {
    return std::memcmp(weights.data() + at, part.space_unit.data(), unit) == 0;
  };
  size_t size = weights.size() - weights.size() % unit;
  while (size > 0 && is_space(size - unit)) size -= unit;
  for (size_t at = 0; at < size; at += unit) {
    key->insert(key->end(), weights.begin() + at, weights.begin() + at + unit);
    if (!is_space(at)) continue;
    size_t next = at + unit;
    while (is_space(next)) next += unit;  // ends before `size`: the last unit is no space
    const bool smaller = std::memcmp(weights.data() + next, part.space_unit.data(), unit) < 0;
    key->push_back(smaller ? std::byte{0} : std::byte{2});
  }
  key->insert(key->end(), part.space_unit.begin(), part.space_unit.begin() + unit);
  key->push_back(std::byte{1});
}

size_t PaddedSize(const KeyPartCodec& part, Bytes key) {
  const size_t unit = part.space_unit_bytes;
  const std::byte mask = part.mask();
  size_t at = 0;
  while (at + unit <= key.size()) {
    bool space = true;
    for (size_t i = 0; i < unit; ++i) space = space && (key[at + i] ^ mask) == part.space_unit[i];
    at += unit;
    if (!space) continue;
    if (at >= key.size()) return 0;
    if ((key[at++] ^ mask) == std::byte{1}) return at;
  }
  return 0;
}

}  // namespace

Bytes KeyPartCodec::CutToPrefix(Bytes value) const {
  if (whole_column) return value;
  if (charset == nullptr || charset->mbmaxlen == 1) {
    return value.first(std::min<size_t>(value.size(), prefix_bytes));
  }
  const char* begin = reinterpret_cast<const char*>(value.data());
  const size_t characters = prefix_bytes / charset->mbmaxlen;
  if (value.size() <= characters) return value;
  const size_t cut = my_charpos(charset, begin, begin + value.size(), characters);
  return value.first(std::min(value.size(), cut));
}

void KeyPartCodec::EncodeValue(Bytes value, std::vector<std::byte>* key) const {
  switch (encoding) {
    case KeyEncoding::kSigned:
    case KeyEncoding::kUnsigned:
      AppendBigEndian(value, encoding == KeyEncoding::kSigned, key);
      break;
    case KeyEncoding::kRaw:
      value = CutToPrefix(value);
      key->insert(key->end(), value.begin(), value.end());
      break;
    case KeyEncoding::kFloat: AppendReal<float, uint32_t>(value, key); break;
    case KeyEncoding::kDouble: AppendReal<double, uint64_t>(value, key); break;
    case KeyEncoding::kEscaped: AppendEscaped(CutToPrefix(value), key); break;
    case KeyEncoding::kNoPadText: {
      Bytes text = CutToPrefix(value);
      if (prefix_of_char || trims_spaces) text = WithoutPadding(charset, text);
      const CollationWeights weights(charset, text);
      AppendEscaped(weights.bytes(), key);
      break;
    }
    case KeyEncoding::kPadText: {
      const Bytes text = CutToPrefix(value);
      const CollationWeights weights(charset, WithoutPadding(charset, text));
      AppendPadded(*this, weights.bytes(), key);
      break;
    }
  }
}

void KeyPartCodec::Encode(Bytes value, bool is_null, std::vector<std::byte>* key) const {
  const size_t start = key->size();
  if (nullable) key->push_back(is_null ? kNullMark : kValueMark);
  if (!is_null) EncodeValue(value, key);
  if (!descending) return;
  for (size_t i = start; i < key->size(); ++i) (*key)[i] ^= std::byte{0xFF};
}

size_t KeyPartCodec::SizeInside(Bytes key) const {
  size_t header = 0;
  if (nullable) {
    if (key.empty()) return 0;
    header = 1;
    if ((key[0] ^ mask()) == kNullMark) return header;
  }
  const Bytes value = key.subspan(header);
  size_t size = length;
  if (encoding == KeyEncoding::kPadText) size = PaddedSize(*this, value);
  if (encoding == KeyEncoding::kEscaped || encoding == KeyEncoding::kNoPadText) {
    size = EscapedSize(value, mask());
  }
  return size == 0 || size > value.size() ? 0 : header + size;
}

namespace {

bool DecodeEscaped(Bytes value, std::byte mask, const ColumnInfo& column, unsigned char* record) {
  // Straight into the record: the only reversible variable columns are VARBINARY.
  unsigned char* target = record + column.offset + column.length_bytes;
  uint32_t size = 0;
  for (size_t i = 0; i + 2 < value.size() && size < column.length; ++i) {
    const std::byte byte = value[i] ^ mask;
    target[size++] = static_cast<unsigned char>(byte);
    if (byte == kEscape) ++i;
  }
  std::memcpy(record + column.offset, &size, column.length_bytes);
  return true;
}

}  // namespace

bool KeyPartCodec::Decode(Bytes part, const ColumnInfo& target_column,
                          unsigned char* record) const {
  const std::byte flip = mask();
  if (nullable) {
    if (part.empty()) return false;
    if ((part[0] ^ flip) == kNullMark) {
      record[target_column.null_offset] |= target_column.null_bit;
      return true;
    }
    part = part.subspan(1);
  }
  if (target_column.nullable()) {
    record[target_column.null_offset] &= static_cast<unsigned char>(~target_column.null_bit);
  }
  if (encoding == KeyEncoding::kEscaped) return DecodeEscaped(part, flip, target_column, record);
  if (part.size() < length || length != target_column.length) return false;
  unsigned char* target = record + target_column.offset;
  if (encoding == KeyEncoding::kRaw) {
    for (size_t i = 0; i < length; ++i) target[i] = static_cast<unsigned char>(part[i] ^ flip);
    return true;
  }
  if (length == sizeof(uint32_t)) {  // the usual number, at once
    const uint32_t number = LoadBe32(part.data()) ^ (descending ? UINT32_MAX : 0);
    StoreLe<uint32_t>(reinterpret_cast<std::byte*>(target), number);
  } else {
    for (size_t i = 0; i < length; ++i) {
      target[length - 1 - i] = static_cast<unsigned char>(part[i] ^ flip);
    }
  }
  if (encoding == KeyEncoding::kSigned) target[length - 1] ^= 0x80;
  return true;
}

bool KeyPartCodec::DecodeNumber(Bytes part, uint64_t* number) const {
  *number = 0;
  if (nullable) {
    if (part.empty()) return false;
    if ((part[0] ^ mask()) == kNullMark) return true;
    part = part.subspan(1);
  }
  if (encoding == KeyEncoding::kRaw || variable() || part.size() != length || length > 8) {
    return false;
  }
  uint64_t bits = 0;
  for (const std::byte byte : part) bits = bits << 8 | static_cast<uint64_t>(byte ^ mask());
  const uint64_t sign = uint64_t{1} << (8 * length - 1);
  if (encoding == KeyEncoding::kUnsigned) {
    *number = bits;
  } else if ((bits & sign) != 0) {  // not negative
    bits ^= sign;
    *number = bits;
    if (encoding == KeyEncoding::kFloat) {
      *number = static_cast<uint64_t>(std::bit_cast<float>(static_cast<uint32_t>(bits)));
    }
    if (encoding == KeyEncoding::kDouble) {
      *number = static_cast<uint64_t>(std::bit_cast<double>(bits));
    }
  }
  return true;
}

namespace {

/// One space character.
Bytes SpaceOf(const CHARSET_INFO* charset) {
  static constexpr std::array<std::byte, 4> kBigEndian{std::byte{0}, std::byte{0}, std::byte{0},
                                                       std::byte{' '}};
  static constexpr std::array<std::byte, 2> kLittleEndian{std::byte{' '}, std::byte{0}};
  if (std::string_view(charset->csname) == "utf16le") return kLittleEndian;
  return Bytes(kBigEndian).last(charset->mbminlen);
}

bool MakeTextPart(const ColumnInfo& column, KeyPartCodec* part, std::string* refusal) {
  const CHARSET_INFO* charset = column.charset;
  part->charset = charset;
  part->reversible = false;
  if (charset == &my_charset_bin) {
    part->encoding = KeyEncoding::kEscaped;
    // Decoding writes into the record's own buffer, which a BLOB column does not have.
    part->reversible = part->whole_column && column.kind == ColumnKind::kVarchar;
    return true;
  }
  if (charset->pad_attribute == NO_PAD) {
    part->encoding = KeyEncoding::kNoPadText;
    return true;
  }
  if (PadOrderOf(charset) == PadOrder::kTrimmed) {
    part->encoding = KeyEncoding::kNoPadText;
    part->trims_spaces = true;
    return true;
  }
  part->encoding = KeyEncoding::kPadText;
  const CollationWeights weights(charset, SpaceOf(charset));
  const size_t unit = weights.bytes().size();
  if (unit == 0 || unit > part->space_unit.size()) {
    *refusal = Format("an index on a column with collation {}", charset->m_coll_name);
    return false;
  }
  part->space_unit_bytes = static_cast<uint8_t>(unit);
  std::copy(weights.bytes().begin(), weights.bytes().end(), part->space_unit.begin());
  return true;
}

}  // namespace

bool MakeKeyPart(const ColumnInfo& column, uint32_t key_part_length, bool descending,
                 KeyPartCodec* part, std::string* refusal) {
  part->nullable = column.nullable();
  part->descending = descending;
  part->prefix_bytes = key_part_length;
  part->length = column.length;
  part->whole_column = column.kind != ColumnKind::kBlob && key_part_length >= column.length;
  part->prefix_of_char = column.kind == ColumnKind::kChar && !part->whole_column;
  part->reversible = true;
  switch (column.kind) {
    case ColumnKind::kSigned: part->encoding = KeyEncoding::kSigned; return true;
    case ColumnKind::kUnsigned: part->encoding = KeyEncoding::kUnsigned; return true;
    case ColumnKind::kFloat:
    case ColumnKind::kDouble:
      part->encoding =
          column.kind == ColumnKind::kFloat ? KeyEncoding::kFloat : KeyEncoding::kDouble;
      part->reversible = false;  // -0 is lost
      return true;
    case ColumnKind::kOrdered:
    case ColumnKind::kFixedBinary:
      part->encoding = KeyEncoding::kRaw;
      part->length = std::min(key_part_length, column.length);
      part->reversible = part->whole_column;
      return true;
    case ColumnKind::kChar:
    case ColumnKind::kVarchar:
    case ColumnKind::kBlob: return MakeTextPart(column, part, refusal);
  }
  return false;
}

}  // namespace rowan
