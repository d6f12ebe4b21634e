// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/codec/layout_change.h"

#include <algorithm>
#include <tuple>

#include "mysql/strings/m_ctype.h"
#include "plugin/codec/spatial_reference.h"

namespace rowan {
namespace {

bool SameCharset(const CHARSET_INFO* one, const CHARSET_INFO* other) {
  if (one == nullptr || other == nullptr) return one == other;
  return one->number == other->number;
}

bool ColumnStays(const ColumnInfo& before, const ColumnInfo& after) {
  if (before.is_virtual != after.is_virtual) return false;
  if (before.kind != after.kind || before.in_clustered_key != after.in_clustered_key) return false;
  if (before.nullable() != after.nullable()) return false;
  const bool in_place = before.kind == ColumnKind::kVarchar || before.kind == ColumnKind::kBlob;
  if (in_place) return before.length <= after.length;
  return before.length == after.length && SameCharset(before.charset, after.charset);
}

uint32_t FormerColumn(const ColumnMap& former, uint32_t column) {
  return column == kNoColumn ? kNoColumn : former[column];
}

bool PartStays(const KeyPartCodec& before, const ColumnMap& former, const KeyPartCodec& after) {
  if (before.column != FormerColumn(former, after.column)) return false;
  // A new column did not exist before either, but is not the hidden row id.
  if (before.column == kNoColumn && after.column != kNoColumn) return false;
  const auto form = [](const KeyPartCodec& part) {
    const uint32_t length = part.variable() ? 0 : part.length;
    return std::tuple(part.encoding, length, part.nullable, part.descending, part.whole_column,
                      part.prefix_of_char, part.reversible, part.space_unit_bytes, part.space_unit);
  };
  if (form(before) != form(after) || !SameCharset(before.charset, after.charset)) return false;
  // How long a whole value may be is not in its key.
  const bool grows = before.whole_column && before.variable();
  return grows ? before.prefix_bytes <= after.prefix_bytes
               : before.prefix_bytes == after.prefix_bytes;
}

}  // namespace

bool RowsStay(const TableLayout& before, const ColumnMap& former, const TableLayout& after) {
  uint32_t next = 0;  // those that stay are in the same order
  for (uint32_t i = 0; i < after.columns.size(); ++i) {
    if (former[i] == kNoColumn) continue;
    if (former[i] < next || !ColumnStays(before.columns[former[i]], after.columns[i])) {
      return false;
    }
    next = former[i] + 1;
  }
  return before.has_primary_key == after.has_primary_key &&
         EntriesStay(before.indexes[0], former, after.indexes[0]);
}

namespace {

bool TextStays(const IndexLayout& before, const ColumnMap& former, const IndexLayout& after) {
  if (before.text == nullptr || after.text == nullptr) return before.text == after.text;
  const auto column_stays = [&](uint32_t one, uint32_t other) {
    return one == FormerColumn(former, other);
  };
  return before.text->charset() == after.text->charset() &&
         before.text->Describe() == after.text->Describe() &&
         std::equal(before.text_columns.begin(), before.text_columns.end(),
                    after.text_columns.begin(), after.text_columns.end(), column_stays);
}

}  // namespace

bool EntriesStay(const IndexLayout& before, const ColumnMap& former, const IndexLayout& after) {
  if (!SameSpatialReference(before.spatial.get(), after.spatial.get())) return false;
  const auto part_stays = [&](const KeyPartCodec& one, const KeyPartCodec& other) {
    return PartStays(one, former, other);
  };
  const auto column_stays = [&](uint32_t one, uint32_t other) {
    return one == FormerColumn(former, other);
  };
  if (!TextStays(before, former, after)) return false;
  return before.unique == after.unique && before.declared_parts == after.declared_parts &&
         before.clustered_parts == after.clustered_parts &&
         std::equal(before.payload_columns.begin(), before.payload_columns.end(),
                    after.payload_columns.begin(), after.payload_columns.end(), column_stays) &&
         std::equal(before.parts.begin(), before.parts.end(), after.parts.begin(),
                    after.parts.end(), part_stays);
}

}  // namespace rowan
