// SPDX-License-Identifier: GPL-2.0-only
// What ColumnInfo takes from the server's Field.
#include "base/format.h"
#include "plugin/codec/column_info.h"
#include "plugin/compat/server_line.h"
#include "sql/field.h"

namespace rowan {
namespace {

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
  column->pads_bytes = column->kind == ColumnKind::kChar && charset->mbminlen == 1;
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
    case kVectorType: return DescribeBlob(field, column);
    default: return Refuse(field, "this data type", refusal);
  }
}

}  // namespace rowan
