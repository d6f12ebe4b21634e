// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/codec/column_info.h"

#include <bit>
#include <cstring>

#include "mysql/strings/m_ctype.h"

namespace rowan {
namespace {

Bytes AsSpan(const unsigned char* data, size_t size) {
  return {reinterpret_cast<const std::byte*>(data), size};
}

uint32_t LittleEndian(const unsigned char* source, uint32_t bytes) {
  uint32_t value = 0;
  std::memcpy(&value, source, bytes);
  return value;
}

constexpr uint64_t kSpaces = 0x2020202020202020;
constexpr size_t kBlockBytes = 64;

/// A block of bytes, by vectors that every machine's compiler knows.
bool AreSpaces(const std::byte* block) {
  using Vector = uint64_t __attribute__((vector_size(16)));
  constexpr Vector kMany = {kSpaces, kSpaces};
  const auto others = [block, kMany](size_t offset) {
    Vector part;
    std::memcpy(&part, block + offset, sizeof(part));
    return part ^ kMany;
  };
  const Vector all = others(0) | others(16) | others(32) | others(48);
  return (all[0] | all[1]) == 0;
}

}  // namespace

size_t LengthWithoutPadding(Bytes text) {
  // Many at a time: a CHAR column of a character set with up to four bytes is mostly spaces.
  size_t length = text.size();
  while (length >= kBlockBytes && AreSpaces(text.data() + length - kBlockBytes)) {
    length -= kBlockBytes;
  }
  while (length >= sizeof(kSpaces)) {
    const uint64_t other = LoadLe<uint64_t>(text.data() + length - sizeof(kSpaces)) ^ kSpaces;
    if (other != 0) return length - static_cast<size_t>(std::countl_zero(other)) / 8;
    length -= sizeof(kSpaces);
  }
  while (length > 0 && text[length - 1] == std::byte{' '}) --length;
  return length;
}

Bytes WithoutPadding(const CHARSET_INFO* charset, Bytes text) {
  if (charset->mbminlen == 1) return text.first(LengthWithoutPadding(text));
  const char* begin = reinterpret_cast<const char*>(text.data());
  return text.first(charset->cset->lengthsp(charset, begin, text.size()));
}

Bytes ColumnInfo::Value(const unsigned char* record) const {
  const unsigned char* position = record + offset;
  if (kind == ColumnKind::kVarchar) {
    return AsSpan(position + length_bytes, LittleEndian(position, length_bytes));
  }
  if (kind == ColumnKind::kBlob) {
    const unsigned char* data = nullptr;
    std::memcpy(&data, position + length_bytes, sizeof(data));
    return AsSpan(data, LittleEndian(position, length_bytes));
  }
  const Bytes whole = AsSpan(position, length);
  return kind == ColumnKind::kChar ? WithoutPadding(charset, whole) : whole;
}

bool ColumnInfo::Store(Bytes value, unsigned char* record) const {
  if (value.size() > length) return false;
  unsigned char* position = record + offset;
  const auto size = static_cast<uint32_t>(value.size());
  switch (kind) {
    case ColumnKind::kVarchar:
      std::memcpy(position, &size, length_bytes);  // little-endian
      position += length_bytes;
      break;
    case ColumnKind::kBlob: {
      const std::byte* data = value.data();
      std::memcpy(position, &size, length_bytes);
      std::memcpy(position + length_bytes, &data, sizeof(data));
      return true;
    }
    case ColumnKind::kChar:
      if (pads_bytes) {
        PadWithSpaces(position, size, length);
      } else {
        charset->cset->fill(charset, reinterpret_cast<char*>(position + size), length - size, ' ');
      }
      break;
    default:
      if (size != length) return false;
  }
  if (size != 0) std::memcpy(position, value.data(), size);
  return true;
}

}  // namespace rowan
