// SPDX-License-Identifier: GPL-2.0-only
// TableLayout: what TableCodec compiled from a server table: columns, the row's fixed area as runs
// of plain copies, and for each index its parts. Built once, then constant.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "plugin/codec/column_info.h"
#include "plugin/codec/key_part_codec.h"
#include "plugin/codec/plain_key.h"
#include "plugin/codec/text_index.h"

struct TABLE;

namespace rowan {

class SpatialReference;

inline constexpr uint32_t kNoColumn = UINT32_MAX;  ///< the hidden row id
/// What RowCodec::BlobReader gets as the column of a row's shared blob.
inline constexpr uint32_t kSharedColumn = UINT32_MAX - 1;
inline constexpr size_t kRowIdBytes = 8;

/// Bytes that are adjacent both in the record and in the stored row.
struct CopyRun {
  uint32_t record_offset = 0;
  uint32_t row_offset = 0;
  uint32_t length = 0;
};

/// Maps each column of a table to the one that it was in an earlier definition; kNoColumn: none.
using ColumnMap = std::vector<uint32_t>;

/// Lengths of the parts of a row before its variable columns.
struct RowShape {
  uint32_t null_bytes = 0;
  uint32_t fixed_bytes = 0;
};

/// The value of a column in rows that lack it.
struct AddedValue {
  bool is_null = false;
  std::vector<std::byte> bytes{};  ///< as ColumnInfo::Value gives them
};

/// What a column has in rows.
enum class SlotForm : uint8_t {
  kNothing,  ///< its value is in the key or computed
  kFixed,
  kVariable,
};

/// A column that some rows of the table have; see row_history.h.
struct ColumnSlot {
  SlotForm form = SlotForm::kNothing;
  bool nullable = false;         ///< it has a bit in the null bitmap
  uint32_t length = 0;           ///< kFixed
  uint32_t from = 0;             ///< the first generation of rows with it
  uint32_t until = UINT32_MAX;   ///< the first one without it
  uint32_t column = UINT32_MAX;  ///< of the current table; kNoColumn: it was dropped
  AddedValue value{};            ///< of rows from before `from`
};

/// Where a row has the null bit of a column.
struct RowNullBit {
  bool nullable = false;  ///< it has one
  uint32_t byte = 0;
  uint8_t bit = 0;
  uint32_t column = 0;  ///< or kNoColumn

  [[nodiscard]] bool IsSet(Bytes row) const {
    return nullable && (static_cast<uint8_t>(row[1 + byte]) & bit) != 0;
  }
};

/// A row of an earlier generation.
struct FormerRow : RowShape {
  std::vector<RowNullBit> null_bits;  ///< of columns that the table still has
  std::vector<CopyRun> runs;          ///< likewise
  std::vector<RowNullBit> variables;  ///< all, in the row's order
  std::vector<uint32_t> lacking;      ///< slots of columns that were added later
};

/// The nullable, non-virtual columns whose null bits share a byte of the record's null bitmap.
struct NullGroup {
  uint32_t null_offset = 0;
  uint8_t bits = 0;
  uint32_t first_column = 0;
  uint32_t last_column = 0;
};

/// Which parts of the clustered key follow a secondary key's own, and in which order.
enum class KeyOrder {
  kServer,   ///< first those that the server counts as parts of the index
  kFormat1,  ///< those that it lacks; differs where the clustered key has prefixes of columns
};

struct IndexLayout {
  uint32_t server_key = 0;  ///< MAX_KEY when it is the hidden clustered index
  std::string name;
  bool unique = false;
  std::vector<KeyPartCodec> parts;  ///< of the tree key; column kNoColumn: the hidden row id
  /// How many of them the user declared; the rest is clustered key. The first parts are the
  /// server's `actual_key_parts`, one to one, if `searchable`.
  uint32_t declared_parts = 0;
  bool searchable = true;
  PlainKey plain;                         ///< of `parts`
  std::vector<uint32_t> payload_columns;  ///< columns whose original bytes the payload keeps
  /// Clustered key part i stands at tree part `clustered_parts[i]`.
  std::vector<uint32_t> clustered_parts;
  bool clustered_is_tail = false;  ///< they are exactly the last parts, encoded identically
  /// The part that has one value of an array per entry, and the form of such a value where the
  /// server converts it, at offset 0; kNoColumn: the index has no such part.
  uint32_t array_part = kNoColumn;
  ColumnInfo element;
  /// Of a SPATIAL index (spatial_entry.h); null for others.
  std::shared_ptr<const SpatialReference> spatial;
  std::shared_ptr<TextIndex> text{};  ///< of a FULLTEXT index: its first part is a word
  std::vector<uint32_t> text_columns{};
};

struct TableLayout {
  uint32_t page_size_bytes = 0;
  uint32_t null_bytes = 0;  ///< of the record's null bitmap that are copied to the row unchanged
  uint32_t record_bytes = 0;
  std::vector<ColumnInfo> columns;  ///< in the order of the server's fields
  std::vector<NullGroup> null_groups;
  std::vector<std::byte> null_images;  ///< what NULL columns hold in a record, in sequence
  std::vector<CopyRun> runs;           ///< fixed area
  uint32_t fixed_bytes = 0;            ///< of the fixed area, after version byte and null bitmap
  std::vector<uint32_t> variable_columns;  ///< stored ones, in row order
  std::vector<IndexLayout> indexes;        ///< [0] clustered
  std::vector<uint32_t> index_number_of_key;
  bool has_primary_key = false;
  RowShape shape;           ///< of rows written now
  uint32_t generation = 0;  ///< how many ALTERs have added or dropped columns at once
  // Made by row_history.h, empty in generation 0.
  std::vector<ColumnSlot> slots;         ///< in the order of the columns
  std::vector<uint8_t> first_null_bits;  ///< of each former generation: 0 or 1
  std::vector<FormerRow> former_rows;    ///< by generation

  [[nodiscard]] uint32_t row_header_bytes() const { return 1 + null_bytes; }
  /// Stores in a record what a NULL column holds there.
  void FillNull(const ColumnInfo& column, unsigned char* record) const {
    std::memcpy(record + column.offset, null_images.data() + column.null_image_offset,
                column.null_image_bytes);
  }
  /// The same for all columns that the record's null bitmap says are NULL.
  void FillNulls(unsigned char* record) const {
    for (const NullGroup& group : null_groups) {
      if ((record[group.null_offset] & group.bits) != 0) FillNullsOf(group, record);
    }
  }
  void FillNullsOf(const NullGroup& group, unsigned char* record) const;
};

/// Message of a kTooBig for a key; its detail is the most bytes that a key may have. Any other
/// kTooBig is for a row.
inline constexpr char kKeyTooLong[] = "key too long";

/// kTooBig when keys or rows may not fit the page size. For CREATE only: tables made under other
/// limits stay usable.
Status CheckTableLimits(const TableLayout& layout);

/// Compiles a table. False with a sentence in *refusal when something is unsupported.
bool MakeTableLayout(const TABLE* table, uint32_t page_size_bytes, KeyOrder order,
                     TableLayout* layout, std::string* refusal);

}  // namespace rowan
