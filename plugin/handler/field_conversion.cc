// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/handler/field_conversion.h"

#include <cstring>

#include "my_sys.h"
#include "mysqld_error.h"
#include "sql/current_thd.h"
#include "sql/field.h"
#include "sql/sql_class.h"
#include "sql/table.h"

#include "plugin/codec/table_layout.h"

namespace rowan {
namespace {

/// Both have the same bytes in a record for the same value. A BIT column has its bytes elsewhere.
bool SameBytes(const Field& before, const Field& after) {
  return before.real_type() == after.real_type() && before.pack_length() == after.pack_length() &&
         before.charset() == after.charset() && before.real_type() != MYSQL_TYPE_BIT;
}

}  // namespace

struct FieldConversion::Column {
  Field* before;
  Field* after;
  std::unique_ptr<Copy_field> copy{};  ///< null: the bytes are the same
};

FieldConversion::FieldConversion(const TABLE& before, TABLE* after,
                                 const std::vector<uint32_t>& former, const TableCodec* codec)
    : table_(after), codec_(codec) {
  for (uint i = 0; i < after->s->fields; ++i) {
    Field* field = after->field[i];
    if (former[i] == kNoColumn || field->is_virtual_gcol()) continue;
    Column column{before.field[former[i]], field};
    if (!SameBytes(*column.before, *field)) {
      column.copy = std::make_unique<Copy_field>(field, column.before);
    }
    columns_.push_back(std::move(column));
  }
  if (ComputedColumns::AreIn(*after)) {
    computed_columns_ = std::make_unique<ComputedColumns>(after, codec);
  }
}

FieldConversion::~FieldConversion() = default;

const RowCodec& FieldConversion::codec() const {
  if (computed_columns_ != nullptr) return *computed_columns_;
  return *codec_;
}

void* FieldConversion::record() const { return table_->record[0]; }

Status FieldConversion::Convert() {
  my_bitmap_map* maps[2];
  dbug_tmp_use_all_columns(table_, maps, table_->read_set, table_->write_set);
  bool converted = true;
  for (const Column& column : columns_) converted = converted && ConvertColumn(column);
  dbug_tmp_restore_column_maps(table_->read_set, table_->write_set, maps);
  if (!converted) return Status(Code::kUnsupported, "a value cannot be converted");
  if (computed_columns_ != nullptr && !computed_columns_->Compute(table_->record[0])) {
    return Status(Code::kUnsupported, "a generated column cannot be computed");
  }
  return Status::Ok();
}

bool FieldConversion::ConvertColumn(const Column& column) const {
  if (column.before->is_null()) {
    if (!column.after->is_nullable()) {
      my_error(ER_INVALID_USE_OF_NULL, MYF(0));
      return false;
    }
    column.after->set_null();
    return true;
  }
  column.after->set_notnull();
  if (column.copy == nullptr) {
    std::memcpy(column.after->field_ptr(), column.before->field_ptr(), column.after->pack_length());
    return true;
  }
  column.copy->invoke_do_copy2(column.before, column.after);
  return !current_thd->is_error();
}

}  // namespace rowan
