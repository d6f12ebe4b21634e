// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/codec/table_layout.h"

#include <algorithm>

#include "base/format.h"
#include "engine/catalog/limits.h"
#include "plugin/codec/row_placement.h"
#include "plugin/codec/spatial_entry.h"
#include "sql/field.h"
#include "sql/key.h"
#include "sql/table.h"

namespace rowan {
namespace {

/// The server's null bitmap begins with the columns that are stored.
uint32_t NullBytesOfStored(const TABLE& table, const TableLayout& layout) {
  uint32_t stored = 0;
  bool all = true;
  for (const ColumnInfo& column : layout.columns) {
    if (!column.nullable()) continue;
    if (column.is_virtual) {
      all = false;
    } else {
      stored = std::max(stored, column.null_offset + 1);
    }
  }
  return all ? table.s->null_bytes : stored;
}

bool MakeColumns(const TABLE* table, TableLayout* layout, std::string* refusal) {
  layout->record_bytes = static_cast<uint32_t>(table->s->reclength);
  layout->columns.resize(table->s->fields);
  for (uint32_t i = 0; i < table->s->fields; ++i) {
    const Field* field = table->field[i];
    if (!DescribeColumn(field, table->record[0], &layout->columns[i], refusal)) return false;
  }
  layout->null_bytes = NullBytesOfStored(*table, *layout);
  return true;
}

/// A NULL leaves in the record what the table's default record has there, as the server expects
/// from every engine. Of a VARCHAR only the bytes in use.
void MakeNullImages(const TABLE* table, TableLayout* layout) {
  const auto* defaults = reinterpret_cast<const std::byte*>(table->s->default_values);
  for (uint32_t i = 0; i < layout->columns.size(); ++i) {
    ColumnInfo& column = layout->columns[i];
    if (!column.nullable()) continue;
    column.null_image_offset = static_cast<uint32_t>(layout->null_images.size());
    column.null_image_bytes = table->field[i]->pack_length();
    if (column.kind == ColumnKind::kVarchar) {
      const Bytes value = column.Value(table->s->default_values);
      column.null_image_bytes = column.length_bytes + static_cast<uint32_t>(value.size());
    }
    const std::byte* image = defaults + column.offset;
    layout->null_images.insert(layout->null_images.end(), image, image + column.null_image_bytes);
    if (column.is_virtual) continue;  // whether it is NULL is not known from a row
    auto& groups = layout->null_groups;
    if (groups.empty() || groups.back().null_offset != column.null_offset) {
      groups.push_back({column.null_offset, 0, i, i});
    }
    groups.back().bits |= column.null_bit;
    groups.back().last_column = i;
  }
}

bool MakeParts(const KEY& key, const TableLayout& layout, IndexLayout* index,
               std::string* refusal) {
  const bool spatial = (key.flags & HA_SPATIAL) != 0;
  if (spatial && !MakeSpatialPart(key.table, key.key_part[0].fieldnr - 1u, index, refusal)) {
    return false;
  }
  for (uint32_t i = 0; i < key.user_defined_key_parts && !spatial; ++i) {
    const KEY_PART_INFO& source = key.key_part[i];
    KeyPartCodec part;
    part.column = source.fieldnr - 1u;
    const bool descending = (source.key_part_flag & HA_REVERSE_SORT) != 0;
    const ColumnInfo* column = &layout.columns[part.column];
    if (source.field->is_array()) {
      if (!DescribeElement(source.field, *column, &index->element, refusal)) return false;
      index->array_part = i;
      column = &index->element;
    }
    if (!MakeKeyPart(*column, source.length, descending, &part, refusal)) return false;
    index->parts.push_back(part);
  }
  index->declared_parts = static_cast<uint32_t>(index->parts.size());
  index->unique = (key.flags & HA_NOSAME) != 0;
  index->name = key.name;
  return true;
}

KeyPartCodec HiddenRowIdPart() {
  KeyPartCodec part;
  part.encoding = KeyEncoding::kRaw;
  part.column = kNoColumn;
  part.length = kRowIdBytes;
  return part;
}

bool MakeClustered(const TABLE* table, TableLayout* layout, std::string* refusal) {
  IndexLayout clustered;
  clustered.server_key = table->s->primary_key;
  layout->has_primary_key = table->s->primary_key < MAX_KEY;
  if (layout->has_primary_key) {
    if (!MakeParts(table->key_info[table->s->primary_key], *layout, &clustered, refusal)) {
      return false;
    }
  } else {
    clustered.parts.push_back(HiddenRowIdPart());
    clustered.declared_parts = 0;
    clustered.unique = true;
    clustered.name = "GEN_CLUST_INDEX";
  }
  for (uint32_t i = 0; i < clustered.parts.size(); ++i) {
    clustered.clustered_parts.push_back(i);
    const KeyPartCodec& part = clustered.parts[i];
    if (part.reversible && part.column != kNoColumn) {
      layout->columns[part.column].in_clustered_key = true;
    }
  }
  clustered.clustered_is_tail = true;
  layout->indexes.push_back(std::move(clustered));
  return true;
}

bool SamePart(const KeyPartCodec& one, const KeyPartCodec& other) {
  return one.column == other.column && one.whole_column == other.whole_column &&
         one.prefix_bytes == other.prefix_bytes;
}

/// Appends the clustered parts that the server counts as parts of this index, in its order: its
/// search keys name them. It knows no prefixes in this: of a column that is indexed whole it leaves
/// out a primary key part that is a prefix, and it repeats a prefix that is in both keys.
void AppendServerParts(const KEY& key, const IndexLayout& clustered, IndexLayout* index) {
  for (uint32_t i = key.user_defined_key_parts; i < key.actual_key_parts; ++i) {
    const uint32_t column = key.key_part[i].fieldnr - 1u;
    for (const KeyPartCodec& part : clustered.parts) {
      if (part.column == column) index->parts.push_back(part);
    }
  }
}

/// Appends the clustered parts that the index lacks and records where each clustered part is.
void AppendMissingParts(const IndexLayout& clustered, IndexLayout* index) {
  for (const KeyPartCodec& wanted : clustered.parts) {
    uint32_t place = UINT32_MAX;
    for (uint32_t i = 0; i < index->parts.size() && wanted.column != kNoColumn; ++i) {
      if (SamePart(index->parts[i], wanted)) place = i;
    }
    if (place == UINT32_MAX) {
      place = static_cast<uint32_t>(index->parts.size());
      index->parts.push_back(wanted);
    }
    index->clustered_parts.push_back(place);
  }
}

void AppendClusteredParts(const KEY& key, const IndexLayout& clustered, KeyOrder order,
                          IndexLayout* index) {
  IndexLayout in_server_order = *index;
  AppendServerParts(key, clustered, &in_server_order);
  if (order == KeyOrder::kServer) *index = in_server_order;
  AppendMissingParts(clustered, index);
  const auto& wanted = in_server_order.parts;
  index->searchable = wanted.size() <= index->parts.size() &&
                      std::equal(wanted.begin(), wanted.end(), index->parts.begin(), SamePart);
  const size_t first = index->parts.size() - clustered.parts.size();
  index->clustered_is_tail = first == index->declared_parts;
  for (uint32_t i = 0; i < clustered.parts.size() && index->clustered_is_tail; ++i) {
    index->clustered_is_tail = index->clustered_parts[i] == first + i;
  }
}

void ChoosePayload(IndexLayout* index) {
  for (uint32_t i = 0; i < index->parts.size(); ++i) {
    const KeyPartCodec& part = index->parts[i];
    if (i == index->array_part) continue;  // no entry has all of the column
    if (part.reversible || !part.whole_column || part.column == kNoColumn) continue;
    auto& columns = index->payload_columns;
    if (std::find(columns.begin(), columns.end(), part.column) == columns.end()) {
      columns.push_back(part.column);
    }
  }
}

KeyPartCodec WordPart() {
  KeyPartCodec part;
  part.encoding = KeyEncoding::kEscaped;
  part.column = kNoColumn;
  part.prefix_bytes = TextIndex::kWordBytesMax;
  part.reversible = false;
  return part;
}

/// A FULLTEXT index. The server takes care that its columns have one collation.
void MakeTextIndex(const KEY& key, const TableLayout& layout, IndexLayout* index) {
  for (uint32_t i = 0; i < key.user_defined_key_parts; ++i) {
    index->text_columns.push_back(key.key_part[i].fieldnr - 1u);
  }
  index->name = key.name;
  index->text = std::make_shared<TextIndex>(key, layout.columns[index->text_columns[0]].charset,
                                            ServerWordSizes());
  index->parts.push_back(WordPart());
  index->declared_parts = 1;
  AppendMissingParts(layout.indexes[0], index);
  index->clustered_is_tail = true;
}

bool MakeSecondaries(const TABLE* table, KeyOrder order, TableLayout* layout,
                     std::string* refusal) {
  layout->index_number_of_key.assign(table->s->keys, 0);
  for (uint32_t key = 0; key < table->s->keys; ++key) {
    if (key == table->s->primary_key) continue;
    IndexLayout index;
    index.server_key = key;
    if ((table->key_info[key].flags & HA_FULLTEXT) != 0) {
      MakeTextIndex(table->key_info[key], *layout, &index);
    } else {
      if (!MakeParts(table->key_info[key], *layout, &index, refusal)) return false;
      AppendClusteredParts(table->key_info[key], layout->indexes[0], order, &index);
      ChoosePayload(&index);
    }
    layout->index_number_of_key[key] = static_cast<uint32_t>(layout->indexes.size());
    layout->indexes.push_back(std::move(index));
  }
  return true;
}

/// Fixed columns that the row stores, in field order, merged into runs where the record allows.
void MakeRuns(TableLayout* layout) {
  for (uint32_t i = 0; i < layout->columns.size(); ++i) {
    const ColumnInfo& column = layout->columns[i];
    if (!column.in_row()) continue;
    if (column.variable()) {
      layout->variable_columns.push_back(i);
      continue;
    }
    const bool adjacent =
        !layout->runs.empty() &&
        layout->runs.back().record_offset + layout->runs.back().length == column.offset;
    if (adjacent) {
      layout->runs.back().length += column.length;
    } else {
      layout->runs.push_back({column.offset, layout->fixed_bytes, column.length});
    }
    layout->fixed_bytes += column.length;
  }
}

/// Most bytes an encoded key part can take for text that weighs two bytes a character or its own
/// bytes, whichever is more: what CREATE promises. Rarer characters may exceed it row by row
/// (kTooBig).
size_t UsualPartBytes(const KeyPartCodec& part) {
  const size_t null_bytes = part.nullable ? 1 : 0;
  return null_bytes + (part.variable() ? part.prefix_bytes + 4u : part.length);
}

size_t UsualKeyBytes(const IndexLayout& index) {
  size_t bytes = 0;
  for (const KeyPartCodec& part : index.parts) bytes += UsualPartBytes(part);
  return bytes;
}

}  // namespace

void TableLayout::FillNullsOf(const NullGroup& group, unsigned char* record) const {
  for (uint32_t i = group.first_column; i <= group.last_column; ++i) {
    if (columns[i].IsNull(record)) FillNull(columns[i], record);
  }
}

Status CheckTableLimits(const TableLayout& layout) {
  const size_t key_most = KeyBytesMax(layout.page_size_bytes);
  for (const IndexLayout& index : layout.indexes) {
    const size_t bytes = UsualKeyBytes(index);
    if (bytes <= key_most) continue;
    // In addition to the primary key, which every entry holds.
    const size_t primary = UsualKeyBytes(layout.indexes[0]);
    const size_t left = primary < key_most ? key_most - primary : key_most;
    return Status(Code::kTooBig, kKeyTooLong, static_cast<uint32_t>(left));
  }
  // However long its values are, a row needs no more than this: all of them in place, or moved.
  size_t in_row = 0;
  for (const uint32_t c : layout.variable_columns) {
    in_row += InRowBytes(layout.columns[c].length);
  }
  const size_t moved = kBlobRefBytes + kSharedBlobRowBytes * layout.variable_columns.size();
  const size_t row = UsualKeyBytes(layout.indexes[0]) + layout.row_header_bytes() +
                     layout.fixed_bytes + std::min(in_row, moved);
  const bool fits = row <= RowBytesMax(layout.page_size_bytes);
  return fits ? Status::Ok() : Status(Code::kTooBig, "row too large");
}

bool MakeTableLayout(const TABLE* table, uint32_t page_size_bytes, KeyOrder order,
                     TableLayout* layout, std::string* refusal) {
  layout->page_size_bytes = page_size_bytes;
  if (!MakeColumns(table, layout, refusal)) return false;
  MakeNullImages(table, layout);
  if (!MakeClustered(table, layout, refusal)) return false;
  if (!MakeSecondaries(table, order, layout, refusal)) return false;
  MakeRuns(layout);
  for (IndexLayout& index : layout->indexes) {
    const bool of_columns = index.array_part == kNoColumn && index.spatial == nullptr;
    if (of_columns) index.plain = PlainKey(index.parts, index.declared_parts, layout->columns);
  }
  layout->shape = {layout->null_bytes, layout->fixed_bytes};
  return true;
}

}  // namespace rowan
