// SPDX-License-Identifier: GPL-2.0-only
// Rows (docs/formats/rows.md):
//
//   u8: bit 0 = with a shared blob; the others: how many instant ALTERs that added or dropped
//       columns the row knows of (row_history.h)
//   null bitmap of the server's record
//   fixed area: the fixed-size columns in field order; bytes of NULL columns are undefined
//   BlobRef of the shared blob, if there is one
//   variable columns in field order, not NULL: varint (length << 1 | off-page), then the bytes or,
//   when off-page, a reference (space/off_page_value.h); off-page with length 0: the value is in
//   the shared blob
// The shared blob: varint length and bytes of each such column, in field order.
// Columns that the clustered key restores are not stored.
#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "base/assertions.h"
#include "engine/catalog/limits.h"
#include "my_bitmap.h"
#include "plugin/codec/decode_plan.h"
#include "plugin/codec/record_poison.h"
#include "plugin/codec/row_history.h"
#include "plugin/codec/row_placement.h"
#include "plugin/codec/stored_values.h"
#include "plugin/codec/table_codec.h"
#include "plugin/codec/table_layout.h"
#include "plugin/codec/wanted_columns.h"
#include "sql/table.h"

namespace rowan {
namespace {

/// Rows larger than a quarter of the page move their large values off it, those of at least a
/// thirty-second of the page: smaller ones would waste the page they move to.
constexpr size_t kWantedRowShare = 4;
constexpr size_t kLargeValueShare = 32;

RowRoom RoomFor(const TableLayout& layout, size_t key_bytes) {
  const size_t most = RowBytesMax(layout.page_size_bytes);
  RowRoom room;
  room.fixed_bytes = layout.row_header_bytes() + layout.fixed_bytes;
  room.most_bytes = most - std::min(most, key_bytes);
  room.wanted_bytes = std::min<size_t>(layout.page_size_bytes / kWantedRowShare, room.most_bytes);
  room.large_value_bytes = layout.page_size_bytes / kLargeValueShare;
  return room;
}

void AppendNumber(uint64_t number, ByteBuffer* target) {
  std::byte bytes[kVarintBytesMax];
  target->insert(target->end(), bytes, PutVarint(bytes, number));
}

void PutInRow(Bytes value, std::byte* target) {
  target = PutVarint(target, uint64_t{value.size()} << 1);
  if (!value.empty()) std::memcpy(target, value.data(), value.size());
}

void AppendInRow(Bytes value, ByteBuffer* row) {
  const size_t before = row->size();
  row->resize(before + InRowBytes(value.size()));
  PutInRow(value, row->data() + before);
}

void AppendVariable(const PlacedValue& value, ByteBuffer* row) {
  switch (value.place) {
    case PlacedValue::Place::kInRow: AppendInRow(value.value, row); break;
    case PlacedValue::Place::kOwnBlob:
      AppendNumber((uint64_t{ReferenceBytes(value.stored)} << 1) | 1, row);
      AppendReference(value.stored, row);
      break;
    case PlacedValue::Place::kSharedBlob: AppendNumber(1, row); break;
  }
}

/// By how many bytes, together, references may be longer than those of whole values: by what the
/// row has left of what is wanted, and where it has room by two large values and what a patch takes
/// of each: three such rows to a leaf still, as a rule.
size_t SpareBytes(const RowRoom& room, size_t bytes, const std::vector<PlacedValue>& values) {
  const auto own_blobs = std::count_if(values.begin(), values.end(), [](const PlacedValue& value) {
    return value.place == PlacedValue::Place::kOwnBlob;
  });
  const size_t least =
      2 * room.large_value_bytes + static_cast<size_t>(own_blobs) * (kBlobRefBytes + 1);
  return std::min(std::max(room.wanted_bytes, bytes + least), room.most_bytes) - bytes;
}

/// Writes the values that go off the page; `*shared` is null if nothing is shared. References are
/// at most `spare_bytes` longer, together, than those of whole values.
Status WriteBlobs(RowCodec::BlobWriter* blobs, size_t spare_bytes, std::vector<PlacedValue>* values,
                  std::optional<OffPageValue>* shared) {
  ByteBuffer together;
  for (PlacedValue& value : *values) {
    if (value.place == PlacedValue::Place::kOwnBlob) {
      // The length of a longer one may take a byte more.
      OffPageWrite request{
          .value = value.value,
          .column = value.column,
          .reference_bytes_max = kBlobRefBytes + std::max<size_t>(spare_bytes, 1) - 1};
      const Status status = blobs->Write(&request);
      if (!status.ok()) return status;
      const size_t taken = InRowBytes(ReferenceBytes(request.stored)) - kOwnBlobRowBytes;
      ROWAN_CHECK(taken <= spare_bytes);
      spare_bytes -= taken;
      value.stored = std::move(request.stored);
    } else if (value.place == PlacedValue::Place::kSharedBlob) {
      AppendNumber(value.value.size(), &together);
      together.insert(together.end(), value.value.begin(), value.value.end());
    }
  }
  if (together.empty()) return Status::Ok();
  if (together.size() > UINT32_MAX) return Status(Code::kTooBig, "row too large");
  OffPageWrite request{.value = together, .column = kSharedColumn, .is_shared = true};
  const Status status = blobs->Write(&request);
  ROWAN_CHECK(!status.ok() || ReferenceBytes(request.stored) == kBlobRefBytes);
  *shared = std::move(request.stored);
  return status;
}

bool RowIsNull(const ColumnInfo& column, Bytes row) {
  return column.nullable() &&
         (static_cast<uint8_t>(row[1 + column.null_offset]) & column.null_bit) != 0;
}

/// Null for a row that is not complete.
const RowShape* CompleteShapeOf(const TableLayout& layout, Bytes row) {
  const RowShape* shape = ShapeOf(layout, row);
  if (shape == nullptr) return nullptr;
  const size_t least = BytesBeforeVariable(*shape) + (HasSharedBlob(row) ? kBlobRefBytes : 0);
  return row.size() < least ? nullptr : shape;
}

}  // namespace

Status TableCodec::EncodeRow(const void* source, size_t key_bytes, BlobWriter* blobs,
                             ByteBuffer* row) const {
  const auto* record = static_cast<const unsigned char*>(source);
  const TableLayout& layout = *layout_;
  const RowRoom room = RoomFor(layout, key_bytes);
  // Until its end is known the row is as long as the one before, which as a rule is enough.
  size_t size = room.fixed_bytes;
  if (row->size() < size) row->resize(size);
  (*row)[0] = static_cast<std::byte>(layout.generation << 1);
  std::memcpy(row->data() + 1, record, layout.null_bytes);
  for (const CopyRun& run : layout.runs) {
    std::memcpy(row->data() + layout.row_header_bytes() + run.row_offset,
                record + run.record_offset, run.length);
  }
  for (const uint32_t c : layout.variable_columns) {
    const ColumnInfo& column = layout.columns[c];
    if (column.IsNull(record)) continue;
    const Bytes value = column.Value(record);
    const size_t end = size + InRowBytes(value.size());
    if (end > room.wanted_bytes) {
      row->resize(room.fixed_bytes);
      return EncodeLargeRow(record, room, blobs, row);
    }
    if (row->size() < end) row->resize(end);
    PutInRow(value, row->data() + size);
    size = end;
  }
  row->resize(size);
  return Status::Ok();
}

Status TableCodec::EncodeLargeRow(const unsigned char* record, const RowRoom& room,
                                  BlobWriter* blobs, ByteBuffer* row) const {
  std::vector<PlacedValue> values;
  for (const uint32_t c : layout_->variable_columns) {
    const ColumnInfo& column = layout_->columns[c];
    if (column.IsNull(record)) continue;
    PlacedValue& value = values.emplace_back();
    value.column = c;
    value.value = column.Value(record);
  }
  const std::optional<size_t> bytes = PlaceValues(room, &values);
  if (!bytes.has_value()) return Status(Code::kTooBig, "row too large");
  std::optional<OffPageValue> shared;
  const Status status = WriteBlobs(blobs, SpareBytes(room, *bytes, values), &values, &shared);
  if (!status.ok()) return status;
  if (shared.has_value()) {
    (*row)[0] |= kSharedBlobBit;
    AppendReference(*shared, row);
  }
  for (const PlacedValue& value : values) AppendVariable(value, row);
  return Status::Ok();
}

void TableCodec::BlobsOf(Bytes row, std::vector<BlobRef>* refs) const {
  refs->clear();
  const RowShape* shape = CompleteShapeOf(*layout_, row);
  if (shape == nullptr) return;
  if (HasSharedBlob(row)) refs->push_back(LoadBlobRef(AfterFixed(*shape, row)));
  VariableReader reader(*shape, row);
  const auto add_next = [&] {
    Bytes value;
    PlacedValue::Place place;
    if (!reader.Next(&value, &place)) return false;
    if (place == PlacedValue::Place::kOwnBlob) AppendBlobsOf(LoadReference(value), refs);
    return true;
  };
  if (const FormerRow* former = AsFormerRow(*layout_, *shape); former != nullptr) {
    for (const RowNullBit& variable : former->variables) {
      if (!variable.IsSet(row) && !add_next()) return;
    }
    return;
  }
  for (const uint32_t c : layout_->variable_columns) {
    if (!RowIsNull(layout_->columns[c], row) && !add_next()) return;
  }
}

namespace {

Status DecodeKeyColumns(const TableLayout& layout, Bytes key, unsigned char* record) {
  size_t at = 0;
  for (const KeyPartCodec& part : layout.indexes[0].parts) {
    const size_t size = part.Size(key.subspan(at));
    if (size == 0) return Status(Code::kCorrupt, "malformed clustered key");
    if (part.reversible && part.column != kNoColumn &&
        !part.Decode(key.subspan(at, size), layout.columns[part.column], record)) {
      return Status(Code::kCorrupt, "malformed clustered key");
    }
    at += size;
  }
  return Status::Ok();
}

/// Puts the variable columns of a row into a record, one by one.
class VariableDecoder {
 public:
  VariableDecoder(const RowShape& shape, Bytes row, RowCodec::BlobReader* blobs,
                  unsigned char* record)
      : reader_(shape, row), shared_(shape, row, blobs), blobs_(blobs), record_(record) {}

  /// The next one, which is not NULL. `column` kNoColumn: it was dropped.
  Status Next(const TableLayout& layout, uint32_t column, bool wanted) {
    Bytes value;
    ValuePlace at{.column = column};
    if (!reader_.Next(&value, &at.place)) return Status(Code::kCorrupt, "malformed row");
    if (!wanted) {
      if (at.place == PlacedValue::Place::kSharedBlob) shared_.Skip();
      return Status::Ok();
    }
    const Status status = FetchValue(at, &shared_, blobs_, &value);
    if (!status.ok()) return status;
    if (column == kNoColumn || layout.columns[column].Store(value, record_)) return Status::Ok();
    return Status(Code::kCorrupt, "malformed row");
  }

 private:
  VariableReader reader_;
  SharedBlob shared_;
  RowCodec::BlobReader* const blobs_;
  unsigned char* const record_;
};

Status DecodeFormerVariables(const TableLayout& layout, const FormerRow& form, Bytes row,
                             const MY_BITMAP* wanted, VariableDecoder* decoder) {
  for (const RowNullBit& variable : form.variables) {
    if (variable.IsSet(row)) continue;
    // A caller that wants the whole row also wants its off-page values.
    const bool is_wanted = variable.column == kNoColumn
                               ? wanted == nullptr
                               : IsWanted(wanted, layout.columns[variable.column].field);
    const Status status = decoder->Next(layout, variable.column, is_wanted);
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

/// Without those after the last wanted one, which need not be skipped.
std::span<const uint32_t> WantedVariables(const TableLayout& layout, const MY_BITMAP* wanted) {
  std::span<const uint32_t> columns = layout.variable_columns;
  while (!columns.empty() && !IsWanted(wanted, layout.columns[columns.back()].field)) {
    columns = columns.first(columns.size() - 1);
  }
  return columns;
}

Status DecodeVariables(const TableLayout& layout, const MY_BITMAP* wanted,
                       const unsigned char* record, VariableDecoder* decoder) {
  for (const uint32_t c : WantedVariables(layout, wanted)) {
    const ColumnInfo& column = layout.columns[c];
    if (column.IsNull(record)) continue;
    const Status status = decoder->Next(layout, c, IsWanted(wanted, column.field));
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

/// A wanted value. False: it does not fit.
bool StoreByPlan(const DecodePlan::Variable& variable, Bytes value, unsigned char* record) {
  using Form = DecodePlan::Form;
  const size_t size = value.size();
  unsigned char* target = record + variable.offset;
  if (variable.form == Form::kOther || size > variable.length) [[unlikely]]
    return variable.column->Store(value, record);
  if (variable.form == Form::kPadded) {
    PadWithSpaces(target, size, variable.length);
  } else {
    *target++ = static_cast<unsigned char>(size);
    if (variable.form == Form::kLongVarchar) *target++ = static_cast<unsigned char>(size >> 8);
  }
  if (size != 0) std::memcpy(target, value.data(), size);
  return true;
}

/// False: it is another row than the plan is for, or malformed, and the record holds anything.
bool DecodeUsualRow(const DecodePlan& plan, const TableLayout& layout, const VersionView& stored,
                    unsigned char* record) {
  const auto& [key, row] = stored;
  const bool is_usual =
      key.size() >= plan.key_bytes && row.size() >= plan.fixed_bytes && row[0] == plan.first_byte;
  if (!is_usual) [[unlikely]]
    return false;
  TakeFixed(plan.fixed, row.data(), key.data(), record);
  layout.FillNulls(record);  // the bytes just copied are undefined for NULL columns
  if (!plan.plain_key && !DecodeKeyColumns(layout, key, record).ok()) return false;
  VariableReader reader(row.subspan(plan.fixed_bytes));
  for (const DecodePlan::Variable& variable : plan.variables) {
    if ((record[variable.null_offset] & variable.null_bit) != 0) continue;
    Bytes value;
    if (!reader.TryNextShort(&value)) return false;
    const bool is_wanted = variable.form != DecodePlan::Form::kUnwanted;
    if (is_wanted && !StoreByPlan(variable, value, record)) return false;
  }
  return true;
}

}  // namespace

Status TableCodec::DecodeRow(const VersionView& stored, const void* columns, BlobReader* blobs,
                             void* target) const {
  const auto* wanted = static_cast<const WantedColumns*>(columns);
  auto* record = static_cast<unsigned char*>(target);
  PoisonRecord(record, layout_->record_bytes);
  const DecodePlan* plan = wanted == nullptr ? &whole_rows_ : wanted->plan();
  const bool is_usual = plan != nullptr && DecodeUsualRow(*plan, *layout_, stored, record);
  if (is_usual) [[likely]]
    return Status::Ok();
  return DecodeAnyRow(stored, BitmapOf(wanted), blobs, record);
}

Status TableCodec::DecodeAnyRow(const VersionView& stored, const MY_BITMAP* wanted,
                                BlobReader* blobs, unsigned char* record) const {
  const auto& [key, row] = stored;
  const TableLayout& layout = *layout_;
  const RowShape* shape = CompleteShapeOf(layout, row);
  if (shape == nullptr) return Status(Code::kCorrupt, "malformed row");
  const FormerRow* former = AsFormerRow(layout, *shape);
  if (former == nullptr) {
    const std::span steps(whole_rows_.fixed);
    TakeFixed(steps.first(whole_rows_.fixed_of_row), row.data(), nullptr, record);
  } else {
    FillFromFormerRow(layout, *former, row, record);
  }
  layout.FillNulls(record);
  Status status = DecodeKeyColumns(layout, key, record);
  if (!status.ok()) return status;
  VariableDecoder decoder(*shape, row, blobs, record);
  if (former != nullptr) return DecodeFormerVariables(layout, *former, row, wanted, &decoder);
  return DecodeVariables(layout, wanted, record, &decoder);
}

}  // namespace rowan
