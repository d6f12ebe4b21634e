// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/handler/computed_columns.h"

#include <algorithm>

#include "my_bitmap.h"
#include "sql-common/json_dom.h"
#include "sql/current_thd.h"
#include "sql/field.h"
#include "sql/item.h"
#include "sql/item_json_func.h"
#include "sql/sql_class.h"
#include "sql/table.h"

#include "plugin/codec/column_info.h"
#include "plugin/codec/wanted_columns.h"

namespace rowan {
namespace {

bool IsBlob(const Field& field) { return field.is_flag_set(BLOB_FLAG) || field.is_array(); }

/// Preserves a value that points to memory of its field, and so the field's values in other
/// records.
bool ComputeField(Field* field) {
  Field_blob* blob = IsBlob(*field) ? down_cast<Field_blob*>(field) : nullptr;
  if (blob != nullptr && blob->backup_blob_field()) return false;
  const type_conversion_status status = field->gcol_info->expr_item->save_in_field(field, false);
  if (blob != nullptr) blob->restore_blob_backup();
  return status == TYPE_OK || !current_thd->is_error();
}

}  // namespace

bool ComputedColumns::AreIn(const TABLE& table) {
  if (table.vfield == nullptr) return false;
  return std::any_of(table.key_info, table.key_info + table.s->keys,
                     [](const KEY& key) { return (key.flags & HA_VIRTUAL_GEN_KEY) != 0; });
}

ComputedColumns::ComputedColumns(TABLE* table, const TableCodec* codec)
    : table_(table), codec_(codec) {
  std::vector<bool> wanted(table->s->fields);
  for (uint i = 0; i < table->s->keys; ++i) {
    const KEY& key = table->key_info[i];
    for (uint part = 0; part < key.user_defined_key_parts; ++part) {
      wanted[key.key_part[part].fieldnr - 1u] = true;
    }
  }
  size_t count = 0;
  while (table->vfield[count] != nullptr) ++count;
  // A column depends only on those generated columns that precede it.
  while (count-- > 0) {
    Field* field = table->vfield[count];
    if (!field->is_virtual_gcol() || !wanted[field->field_index()]) continue;
    fields_.insert(fields_.begin(), field);
    for (uint i = 0; i < table->s->fields; ++i) {
      if (bitmap_is_set(&field->gcol_info->base_columns_map, i)) wanted[i] = true;
    }
  }
}

void ComputedColumns::AddSources(MY_BITMAP* columns) const {
  for (const Field* field : fields_) bitmap_union(columns, &field->gcol_info->base_columns_map);
}

void ComputedColumns::AddSourcesOfWanted(MY_BITMAP* columns) const {
  // A source that is computed itself precedes what is computed from it.
  for (auto field = fields_.rbegin(); field != fields_.rend(); ++field) {
    if (!bitmap_is_set(columns, (*field)->field_index())) continue;
    bitmap_union(columns, &(*field)->gcol_info->base_columns_map);
  }
}

bool ComputedColumns::AreRead() const {
  return std::all_of(fields_.begin(), fields_.end(), [this](const Field* field) {
    return bitmap_is_set(table_->read_set, field->field_index());
  });
}

Status ComputedColumns::DecodeRow(const VersionView& row, const void* columns, BlobReader* blobs,
                                  void* record) const {
  const Status status = codec_->DecodeRow(row, columns, blobs, record);
  if (!status.ok() || !active_ || Compute(columns, static_cast<unsigned char*>(record)))
    return status;
  return Status(Code::kUnsupported, "a generated column cannot be computed");
}

bool ComputedColumns::IsComputed(uint32_t index) const {
  const uint32_t key = codec_->KeyOfIndexNumber(index);
  return key < table_->s->keys && (table_->key_info[key].flags & HA_VIRTUAL_GEN_KEY) != 0;
}

Field* ComputedColumns::FieldOf(uint32_t index) const {
  return table_->field[codec_->ArrayColumnOf(index)];
}

Status ComputedColumns::EncodeEntries(uint32_t index, const void* record, Bytes clustered_key,
                                      EncodedEntry* buffer, EntryVisit visit) const {
  const ColumnInfo* element = codec_->ElementOf(index);
  if (element == nullptr) {
    return codec_->EncodeEntries(index, record, clustered_key, buffer, visit);
  }
  auto* field = down_cast<Field_typed_array*>(FieldOf(index));
  const auto distance = static_cast<const unsigned char*>(record) - table_->record[0];
  if (field->is_null(distance)) {
    const Status status = codec_->EncodeElement(index, record, nullptr, clustered_key, buffer);
    if (!status.ok()) return status;
    return visit(*buffer);
  }
  Json_wrapper values;
  field->move_field_offset(distance);
  const bool unreadable = field->val_json(&values);
  field->move_field_offset(-distance);
  Field* converted = field->get_conv_field();
  const size_t count = unreadable ? 0 : values.length();
  for (size_t i = 0; i < count; ++i) {
    const Json_wrapper one = values[i];
    if (save_json_to_field(current_thd, converted, &one, true)) {
      return Status(Code::kUnsupported, "a value of an array cannot be converted");
    }
    const Bytes value = element->Value(converted->field_ptr());
    Status status = codec_->EncodeElement(index, record, &value, clustered_key, buffer);
    if (!status.ok()) return status;
    status = visit(*buffer);
    if (!status.ok()) return status;
  }
  return unreadable ? Status(Code::kCorrupt, "an array cannot be read") : Status::Ok();
}

bool ComputedColumns::ComputeFrom(std::vector<bool> changed, TABLE* table, unsigned char* record) {
  if (table->vfield == nullptr) return true;
  my_bitmap_map* maps[2];
  dbug_tmp_use_all_columns(table, maps, table->read_set, table->write_set);
  unsigned char* const now = table->record[0];
  if (record != now) repoint_field_to_record(table, now, record);
  bool computed = true;
  for (Field** next = table->vfield; computed && *next != nullptr; ++next) {
    const MY_BITMAP& sources = (*next)->gcol_info->base_columns_map;
    for (uint i = 0; i < table->s->fields; ++i) {
      if (!changed[i] || !bitmap_is_set(&sources, i)) continue;
      computed = ComputeField(*next);
      changed[(*next)->field_index()] = true;
      break;
    }
  }
  if (record != now) repoint_field_to_record(table, record, now);
  dbug_tmp_restore_column_maps(table->read_set, table->write_set, maps);
  return computed;
}

bool ComputedColumns::Compute(const void* columns, unsigned char* record) const {
  my_bitmap_map* maps[2];
  dbug_tmp_use_all_columns(table_, maps, table_->read_set, table_->write_set);
  unsigned char* const now = table_->record[0];
  if (record != now) repoint_field_to_record(table_, now, record);
  // The columns that it depends on are undefined unless they were read.
  const MY_BITMAP* const read = BitmapOf(static_cast<const WantedColumns*>(columns));
  const bool computed = std::all_of(fields_.begin(), fields_.end(), [read](Field* field) {
    const bool known =
        read == nullptr || bitmap_is_subset(&field->gcol_info->base_columns_map, read);
    return !known || ComputeField(field);
  });
  if (record != now) repoint_field_to_record(table_, record, now);
  dbug_tmp_restore_column_maps(table_->read_set, table_->write_set, maps);
  return computed;
}

}  // namespace rowan
