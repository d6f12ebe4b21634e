// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/program/column_node.h"

#include <algorithm>

#include "mysql/strings/m_ctype.h"
#include "plugin/codec/table_layout.h"
#include "plugin/compat/server_line.h"
#include "plugin/program/column_place.h"
#include "plugin/program/fixed_column.h"
#include "plugin/program/variable_column.h"
#include "sql/field.h"
#include "sql/sql_class.h"

namespace rowan {
namespace {

using Node = std::unique_ptr<ValueNode>;

template <template <unsigned> class OfRow, template <unsigned> class OfKey, unsigned kBytes>
Node MakeInteger(const ValueType& type, const ColumnPlace& place, const IndexLayout& index) {
  if (place.in_key()) return MakeFixedColumn(type, place, index, OfKey<kBytes>());
  return MakeFixedColumn(type, place, index, OfRow<kBytes>());
}

template <template <unsigned> class OfRow, template <unsigned> class OfKey>
Node MakeIntegerOf(uint32_t bytes, const ValueType& type, const ColumnPlace& place,
                   const IndexLayout& index) {
  switch (bytes) {
    case 1: return MakeInteger<OfRow, OfKey, 1>(type, place, index);
    case 2: return MakeInteger<OfRow, OfKey, 2>(type, place, index);
    case 3: return MakeInteger<OfRow, OfKey, 3>(type, place, index);
    case 4: return MakeInteger<OfRow, OfKey, 4>(type, place, index);
    case 8: return MakeInteger<OfRow, OfKey, 8>(type, place, index);
    default: return nullptr;
  }
}

/// DATETIME and TIME, by the bytes of the fraction.
template <template <unsigned> class OfImage>
Node MakeTemporal(uint32_t fraction_bytes, const ValueType& type, const ColumnPlace& place,
                  const IndexLayout& index) {
  switch (fraction_bytes) {
    case 0: return MakeFixedColumn(type, place, index, OfImage<0>());
    case 1: return MakeFixedColumn(type, place, index, OfImage<1>());
    case 2: return MakeFixedColumn(type, place, index, OfImage<2>());
    case 3: return MakeFixedColumn(type, place, index, OfImage<3>());
    default: return nullptr;
  }
}

struct ColumnForm {
  ValueType type;
  const ColumnPlace& place;
  const IndexLayout& index;
  const ColumnInfo& column;
};

/// Most decimal digits of an integer of so many bytes.
uint8_t DigitsOf(uint32_t bytes) {
  constexpr uint8_t kDigits[] = {0, 3, 5, 8, 10, 20, 20, 20, 20};
  return kDigits[bytes];
}

Node MakeNumber(ColumnForm made, bool is_signed) {
  made.type.precision = DigitsOf(made.column.length);
  if (is_signed) {
    return MakeIntegerOf<SignedOfRow, SignedOfKey>(made.column.length, made.type, made.place,
                                                   made.index);
  }
  return MakeIntegerOf<UnsignedOfRow, UnsignedOfKey>(made.column.length, made.type, made.place,
                                                     made.index);
}

Node MakeReal(const ColumnForm& made) {
  const bool in_key = made.place.in_key();
  if (made.column.kind == ColumnKind::kFloat) {
    return in_key ? MakeFixedColumn(made.type, made.place, made.index, FloatOfKey())
                  : MakeFixedColumn(made.type, made.place, made.index, FloatOfRow());
  }
  return in_key ? MakeFixedColumn(made.type, made.place, made.index, DoubleOfKey())
                : MakeFixedColumn(made.type, made.place, made.index, DoubleOfRow());
}

Node MakeText(ColumnForm made, const Field* field, const char** reason) {
  if (field->type() == MYSQL_TYPE_JSON || field->type() == MYSQL_TYPE_GEOMETRY ||
      field->type() == kVectorType) {
    *reason = "type of a column";
    return nullptr;
  }
  made.type.kind = ValueKind::kBytes;
  made.type.charset = field->charset();
  if (made.column.kind == ColumnKind::kFixedBinary) {
    return MakeFixedColumn(made.type, made.place, made.index, ImageItself{made.column.length});
  }
  const bool pads = (current_thd->variables.sql_mode & MODE_PAD_CHAR_TO_FULL_LENGTH) != 0;
  if (made.column.kind == ColumnKind::kChar && pads) {
    *reason = "CHAR in mode PAD_CHAR_TO_FULL_LENGTH";
    return nullptr;
  }
  return MakeVariableColumn(made.type, made.place);
}

Node MakeFor(ColumnForm made, const Field* field, const char** reason) {
  switch (field->real_type()) {
    case MYSQL_TYPE_TINY:
    case MYSQL_TYPE_SHORT:
    case MYSQL_TYPE_INT24:
    case MYSQL_TYPE_LONG:
    case MYSQL_TYPE_LONGLONG:
      made.type.kind = field->is_unsigned() ? ValueKind::kUnsigned : ValueKind::kSigned;
      return MakeNumber(made, !field->is_unsigned());
    case MYSQL_TYPE_ENUM:
    case MYSQL_TYPE_SET: made.type.kind = ValueKind::kUnsigned; return MakeNumber(made, false);
    case MYSQL_TYPE_NEWDATE: made.type.kind = ValueKind::kDate; return MakeNumber(made, false);
    case MYSQL_TYPE_YEAR:
      made.type.kind = ValueKind::kUnsigned;
      made.type.precision = 4;
      return MakeFixedColumn(made.type, made.place, made.index, YearOfImage());
    case MYSQL_TYPE_FLOAT:
    case MYSQL_TYPE_DOUBLE: made.type.kind = ValueKind::kDouble; return MakeReal(made);
    case MYSQL_TYPE_DATETIME2:
      made.type.kind = ValueKind::kDatetime;
      return MakeTemporal<DatetimeOfImage>(made.column.length - 5, made.type, made.place,
                                           made.index);
    case MYSQL_TYPE_TIME2:
      made.type.kind = ValueKind::kTime;
      return MakeTemporal<TimeOfImage>(made.column.length - 3, made.type, made.place, made.index);
    case MYSQL_TYPE_NEWDECIMAL: {
      const auto* const decimal = down_cast<const Field_new_decimal*>(field);
      made.type.precision = static_cast<uint8_t>(decimal->precision);
      made.type.scale = static_cast<uint8_t>(decimal->dec);
      return MakeDecimalColumn(made.type, made.place, made.index);
    }
    case MYSQL_TYPE_STRING:
    case MYSQL_TYPE_VARCHAR:
    case MYSQL_TYPE_TINY_BLOB:
    case MYSQL_TYPE_BLOB:
    case MYSQL_TYPE_MEDIUM_BLOB:
    case MYSQL_TYPE_LONG_BLOB: return MakeText(made, field, reason);
    default: return nullptr;
  }
}

}  // namespace

Node MakeColumnNode(const BatchPlan& plan, const Field* field, const char** reason) {
  const TableLayout& layout = plan.layout();
  *reason = "type of a column";
  if (field->table != plan.table() || field->is_array()) return nullptr;
  const auto is_it = [&](const ColumnInfo& column) { return column.field == field->field_index(); };
  const auto column = std::find_if(layout.columns.begin(), layout.columns.end(), is_it);
  if (column == layout.columns.end()) return nullptr;
  const std::optional<ColumnPlace> place = FindColumn(
      layout, plan.index_number(), static_cast<uint32_t>(column - layout.columns.begin()), reason);
  if (!place.has_value()) return nullptr;
  const ValueType type{.nullable = place->nullable};
  return MakeFor({type, *place, layout.indexes[plan.index_number()], *column}, field, reason);
}

}  // namespace rowan
