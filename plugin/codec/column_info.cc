// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/codec/column_info.h"

#include "base/format.h"
#include "sql/field.h"

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

bool Refuse(const Field* field, const char* what, std::string* refusal) {
  *refusal = Format("{} (column '{}')", what, field->field_name);
  return false;
}

/// Strings and byte strings.
bool DescribeString(const Field* field, ColumnInfo* column) {
  const CHARSET_INFO* charset = field->charset();
  column->charset = charset;
  if (field->real_type() == MYSQL_TYPE_VARCHAR) {
    column->kind = ColumnKind::kVarchar;
    column->length_bytes = field->get_length_bytes();
    column->length = field->field_length;
    return true;
  }
  column->length = field->pack_length();
  column->kind = charset == &my_charset_bin ? ColumnKind::kFixedBinary : ColumnKind::kChar;
  return true;
}

bool DescribeBlob(const Field* field, ColumnInfo* column) {
  column->kind = ColumnKind::kBlob;
  column->charset = field->charset();
  column->length_bytes = field->pack_length() - portable_sizeof_char_ptr;
  column->length = column->length_bytes == 4 ? UINT32_MAX : (1u << (8 * column->length_bytes)) - 1;
  return true;
}

/// JSON in the record, whatever the type of its values.
bool DescribeArray(const Field* field, ColumnInfo* column) {
  DescribeBlob(field, column);
  column->charset = &my_charset_bin;
  return true;
}

}  // namespace

bool DescribeElement(Field* array, const ColumnInfo& array_column, ColumnInfo* element,
                     std::string* refusal) {
  const Field* converted = down_cast<Field_typed_array*>(array)->get_conv_field();
  if (!DescribeColumn(converted, converted->field_ptr(), element, refusal)) return false;
  // All of them are NULL, or none.
  element->null_offset = array_column.null_offset;
  element->null_bit = array_column.null_bit;
  return true;
}

size_t LengthWithoutPadding(Bytes text) {
  // Eight at a time: a CHAR column of a character set with up to four bytes is mostly spaces.
  constexpr uint64_t kSpaces = 0x2020202020202020;
  size_t length = text.size();
  while (length >= sizeof(kSpaces) &&
         LoadLe<uint64_t>(text.data() + length - sizeof(kSpaces)) == kSpaces) {
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
  unsigned char* position = record + offset;
  if (value.size() > length) return false;
  const auto size = static_cast<uint32_t>(value.size());
  if (kind == ColumnKind::kBlob) {
    const std::byte* data = value.data();
    std::memcpy(position, &size, length_bytes);
    std::memcpy(position + length_bytes, &data, sizeof(data));
    return true;
  }
  if (kind == ColumnKind::kVarchar) {
    std::memcpy(position, &size, length_bytes);
    position += length_bytes;
  } else if (kind == ColumnKind::kChar) {
    if (charset->mbminlen == 1) {
      std::memset(position + size, ' ', length - size);
    } else {
      charset->cset->fill(charset, reinterpret_cast<char*>(position + size), length - size, ' ');
    }
  } else if (size != length) {
    return false;
  }
  if (size != 0) std::memcpy(position, value.data(), size);
  return true;
}

bool DescribeColumn(const Field* field, const unsigned char* record0, ColumnInfo* column,
                    std::string* refusal) {
  column->field = field->field_index();
  column->offset = static_cast<uint32_t>(field->field_ptr() - record0);
  column->length = field->pack_length();
  column->is_virtual = field->is_virtual_gcol();
  if (field->is_nullable()) {
    column->null_offset = static_cast<uint32_t>(field->null_offset(record0));
    column->null_bit = field->null_bit;
  }
  if (field->is_array()) return DescribeArray(field, column);
  switch (field->real_type()) {
    case MYSQL_TYPE_TINY:
    case MYSQL_TYPE_SHORT:
    case MYSQL_TYPE_INT24:
    case MYSQL_TYPE_LONG:
    case MYSQL_TYPE_LONGLONG:
      column->kind = field->is_unsigned() ? ColumnKind::kUnsigned : ColumnKind::kSigned;
      return true;
    case MYSQL_TYPE_YEAR:
    case MYSQL_TYPE_ENUM:
    case MYSQL_TYPE_SET:
    case MYSQL_TYPE_NEWDATE: column->kind = ColumnKind::kUnsigned; return true;
    case MYSQL_TYPE_NEWDECIMAL:
    case MYSQL_TYPE_DATETIME2:
    case MYSQL_TYPE_TIMESTAMP2:
    case MYSQL_TYPE_TIME2:
    case MYSQL_TYPE_BIT: column->kind = ColumnKind::kOrdered; return true;
    case MYSQL_TYPE_FLOAT: column->kind = ColumnKind::kFloat; return true;
    case MYSQL_TYPE_DOUBLE: column->kind = ColumnKind::kDouble; return true;
    case MYSQL_TYPE_STRING:
    case MYSQL_TYPE_VARCHAR: return DescribeString(field, column);
    case MYSQL_TYPE_TINY_BLOB:
    case MYSQL_TYPE_BLOB:
    case MYSQL_TYPE_MEDIUM_BLOB:
    case MYSQL_TYPE_LONG_BLOB:
    case MYSQL_TYPE_JSON:
    case MYSQL_TYPE_GEOMETRY:
    case MYSQL_TYPE_VECTOR: return DescribeBlob(field, column);
    default: return Refuse(field, "this data type", refusal);
  }
}

}  // namespace rowan
