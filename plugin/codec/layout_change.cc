// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/codec/layout_change.h"

#include <algorithm>
#include <tuple>

#include "mysql/strings/m_ctype.h"

namespace rowan {
namespace {

bool SameCharset(const CHARSET_INFO* one, const CHARSET_INFO* other) {
  if (one == nullptr || other == nullptr) return one == other;
  return one->number == other->number;
}

bool ColumnStays(const ColumnInfo& before, const ColumnInfo& after) {
  if (before.is_virtual != after.is_virtual) return false;
  if (before.kind != after.kind || before.in_clustered_key != after.in_clustered_key) return false;
  if (before.null_offset != after.null_offset || before.null_bit != after.null_bit) return false;
  const bool in_place = before.kind == ColumnKind::kVarchar || before.kind == ColumnKind::kBlob;
  if (in_place) return before.length <= after.length;
  return before.length == after.length && SameCharset(before.charset, after.charset);
}

bool PartStays(const KeyPartCodec& before, const KeyPartCodec& after) {
  const auto form = [](const KeyPartCodec& part) {
    const uint32_t length = part.variable() ? 0 : part.length;
    return std::tuple(part.encoding, part.column, length, part.nullable, part.descending,
                      part.whole_column, part.prefix_of_char, part.reversible,
                      part.space_unit_bytes, part.space_unit);
  };
  if (form(before) != form(after) || !SameCharset(before.charset, after.charset)) return false;
  // How long a whole value may be is not in its key.
  const bool grows = before.whole_column && before.variable();
  return grows ? before.prefix_bytes <= after.prefix_bytes
               : before.prefix_bytes == after.prefix_bytes;
}

}  // namespace

bool RowsStay(const TableLayout& before, const TableLayout& after) {
  return before.columns.size() <= after.columns.size() && before.null_bytes <= after.null_bytes &&
         before.has_primary_key == after.has_primary_key &&
         std::equal(before.columns.begin(), before.columns.end(), after.columns.begin(),
                    ColumnStays) &&
         EntriesStay(before.indexes[0], after.indexes[0]);
}

bool EntriesStay(const IndexLayout& before, const IndexLayout& after) {
  return before.unique == after.unique && before.declared_parts == after.declared_parts &&
         before.payload_columns == after.payload_columns &&
         before.clustered_parts == after.clustered_parts &&
         std::equal(before.parts.begin(), before.parts.end(), after.parts.begin(),
                    after.parts.end(), PartStays);
}

}  // namespace rowan
