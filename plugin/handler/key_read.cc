// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/handler/key_read.h"

#include "plugin/handler/computed_columns.h"
#include "sql/field.h"
#include "sql/key.h"
#include "sql/table.h"

namespace rowan {

bool IndexCoversRead(const TABLE& table, uint index) {
  // Not every covering plan says so: the hypergraph optimizer's lookups do not.
  if (index >= table.s->keys || !table.s->keys_for_keyread.is_set(index)) {
    return false;
  }
  for (uint number = bitmap_get_first_set(table.read_set); number != MY_BIT_NONE;
       number = bitmap_get_next_set(table.read_set, number)) {
    const Field& field = *table.field[number];
    // The server computes virtual columns of rows that it did not request as index-only.
    if (field.is_virtual_gcol() || !field.part_of_key.is_set(index)) return false;
  }
  return true;
}

const MY_BITMAP* KeyRead::ColumnsOf(const TablePart& part, uint index, bool* from_entry) {
  const TABLE& table = *part.server_table();
  // Skip scans take the next group's prefix from the record: the declared parts must be in it even
  // if the statement names none of them, and part of a column has to come from the row.
  const KEY& key = table.key_info[index];
  const MY_BITMAP* columns = table.read_set;
  for (uint i = 0; i < key.user_defined_key_parts; ++i) {
    const uint field = key.key_part[i].field->field_index();
    if ((key.key_part[i].key_part_flag & HA_PART_KEY_SEG) != 0) *from_entry = false;
    if (bitmap_is_set(table.read_set, field)) continue;
    if (columns == table.read_set) {
      bits_.resize(bitmap_buffer_size(table.s->fields) / sizeof(my_bitmap_map));
      bitmap_init(&columns_, bits_.data(), table.s->fields);
      bitmap_copy(&columns_, table.read_set);
      columns = &columns_;
    }
    bitmap_set_bit(&columns_, field);
  }
  if (columns == &columns_ && part.computed_columns() != nullptr) {
    // Where a row is read after all, virtual parts are computed.
    part.computed_columns()->AddSourcesOfWanted(&columns_);
  }
  if (!EntryHasRowReference(part)) *from_entry = false;
  return columns;
}

bool EntryHasRowReference(const TablePart& part) {
  const TABLE& table = *part.server_table();
  const TableCodec& codec = part.codec();
  // position() copies the primary key's parts from the columns in the record, where an entry leaves
  // a column unchanged of which it has only a prefix.
  if (!codec.has_primary_key()) return true;
  const KEY& primary = table.key_info[codec.KeyOfIndexNumber(0)];
  for (uint i = 0; i < primary.user_defined_key_parts; ++i) {
    const KEY_PART_INFO& info = primary.key_part[i];
    const bool is_prefix = (info.key_part_flag & HA_PART_KEY_SEG) != 0;
    if (is_prefix && bitmap_is_set(table.read_set, info.field->field_index())) return false;
  }
  return true;
}

}  // namespace rowan
