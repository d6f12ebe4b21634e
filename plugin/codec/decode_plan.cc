// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/codec/decode_plan.h"

#include "plugin/codec/stored_values.h"
#include "plugin/codec/table_layout.h"
#include "plugin/codec/wanted_columns.h"

namespace rowan {
namespace {

DecodePlan::Form VariableForm(const ColumnInfo& column) {
  using Form = DecodePlan::Form;
  if (column.kind == ColumnKind::kVarchar) {
    return column.length_bytes == 1 ? Form::kShortVarchar : Form::kLongVarchar;
  }
  return column.pads_bytes ? Form::kPadded : Form::kOther;
}

}  // namespace

void DecodePlan::Compile(const TableLayout& layout, const MY_BITMAP* wanted) {
  const PlainKey& key = layout.indexes[0].plain;
  plain_key = key.is_plain();
  key_bytes = plain_key ? key.bytes() : 0;
  fixed_bytes = BytesBeforeVariable(layout.shape);
  first_byte = static_cast<std::byte>(layout.generation << 1);
  fixed.clear();
  fixed.push_back(FixedStep::OfRow(1, 0, layout.null_bytes));
  for (const CopyRun& run : layout.runs) {
    fixed.push_back(FixedStep::OfRow(layout.row_header_bytes() + run.row_offset, run.record_offset,
                                     run.length));
  }
  fixed_of_row = fixed.size();
  if (plain_key) fixed.insert(fixed.end(), key.parts().begin(), key.parts().end());
  variables.clear();
  size_t until_wanted = 0;
  for (const uint32_t c : layout.variable_columns) {
    const ColumnInfo& column = layout.columns[c];
    const bool is_wanted = IsWanted(wanted, column.field);
    variables.push_back({.form = is_wanted ? VariableForm(column) : Form::kUnwanted,
                         .null_bit = column.null_bit,
                         .null_offset = column.null_offset,
                         .offset = column.offset,
                         .length = column.length,
                         .column = &column});
    if (is_wanted) until_wanted = variables.size();
  }
  variables.resize(until_wanted);
}

}  // namespace rowan
