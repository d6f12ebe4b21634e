// SPDX-License-Identifier: GPL-2.0-only
// Rows (docs/formats/rows.md):
//
//   u8: bit 0 = with a shared blob; the others: how many ALTERs that added columns at the end the
//       row knows of (added_columns.h)
//   null bitmap of the server's record
//   fixed area: the fixed-size columns in field order; bytes of NULL columns mean nothing
//   BlobRef of the shared blob, if there is one
//   variable columns in field order, not NULL: varint (length << 1 | off-page), then the bytes or,
//   when off-page, a BlobRef; off-page with length 0: the value is in the shared blob
// The shared blob: varint length and bytes of each such column, in field order.
// Columns that the clustered key gives back are not stored.
#include <algorithm>
#include <optional>

#include "engine/limits.h"
#include "my_bitmap.h"
#include "plugin/codec/added_columns.h"
#include "plugin/codec/record_poison.h"
#include "plugin/codec/row_placement.h"
#include "plugin/codec/table_codec.h"
#include "plugin/codec/table_layout.h"
#include "sql/table.h"

namespace rowan {
namespace {

constexpr std::byte kSharedBit{1};

/// Rows larger than a quarter of the page move their large values off it, where a large one is of
/// a thirty-second: smaller ones would waste the page they move to.
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

bool Wanted(const MY_BITMAP* columns, const ColumnInfo& column) {
  return columns == nullptr || bitmap_is_set(columns, column.field);
}

void AppendNumber(uint64_t number, ByteBuffer* target) {
  std::byte bytes[kVarintBytesMax];
  target->insert(target->end(), bytes, PutVarint(bytes, number));
}

void AppendRef(const BlobRef& ref, ByteBuffer* row) {
  row->resize(row->size() + kBlobRefBytes);
  StoreBlobRef(row->data() + row->size() - kBlobRefBytes, ref);
}

void AppendInRow(Bytes value, ByteBuffer* row) {
  AppendNumber(uint64_t{value.size()} << 1, row);
  row->insert(row->end(), value.begin(), value.end());
}

void AppendVariable(const PlacedValue& value, ByteBuffer* row) {
  switch (value.place) {
    case PlacedValue::Place::kInRow: AppendInRow(value.value, row); break;
    case PlacedValue::Place::kOwnBlob:
      AppendNumber((uint64_t{kBlobRefBytes} << 1) | 1, row);
      AppendRef(value.ref, row);
      break;
    case PlacedValue::Place::kSharedBlob: AppendNumber(1, row); break;
  }
}

/// Writes what is to stand off the page; `*shared` is null if nothing is shared.
Status WriteBlobs(TableCodec::BlobWriter* blobs, std::vector<PlacedValue>* values,
                  std::optional<BlobRef>* shared) {
  ByteBuffer together;
  for (PlacedValue& value : *values) {
    if (value.place == PlacedValue::Place::kOwnBlob) {
      TableCodec::Outsourced request{value.value, false, {}};
      const Status status = blobs->Write(&request);
      if (!status.ok()) return status;
      value.ref = request.ref;
    } else if (value.place == PlacedValue::Place::kSharedBlob) {
      AppendNumber(value.value.size(), &together);
      together.insert(together.end(), value.value.begin(), value.value.end());
    }
  }
  if (together.empty()) return Status::Ok();
  if (together.size() > UINT32_MAX) return Status(Code::kTooBig, "row too large");
  TableCodec::Outsourced request{together, true, {}};
  const Status status = blobs->Write(&request);
  *shared = request.ref;
  return status;
}

bool HasSharedBlob(Bytes row) { return (row[0] & kSharedBit) != std::byte{0}; }

size_t BytesBeforeVariable(const RowShape& shape) {
  return 1 + size_t{shape.null_bytes} + shape.fixed_bytes;
}

const std::byte* AfterFixed(const RowShape& shape, Bytes row) {
  return row.data() + BytesBeforeVariable(shape);
}

/// Steps through the variable part of a stored row.
class VariableReader {
 public:
  using Place = PlacedValue::Place;

  VariableReader(const RowShape& shape, Bytes row)
      : position_(AfterFixed(shape, row) + (HasSharedBlob(row) ? kBlobRefBytes : 0)),
        end_(row.data() + row.size()),
        shares_(HasSharedBlob(row)) {}

  /// `*value`: the bytes, the reference, or nothing, as `*place` says.
  bool Next(Bytes* value, Place* place) {
    uint64_t header = 0;
    const std::byte* next = GetVarint(position_, end_, &header);
    if (next == nullptr || (header >> 1) > static_cast<uint64_t>(end_ - next)) return false;
    *value = {next, header >> 1};
    position_ = next + (header >> 1);
    *place = Place::kInRow;
    if ((header & 1) == 0) return true;
    *place = value->empty() ? Place::kSharedBlob : Place::kOwnBlob;
    return value->empty() ? shares_ : value->size() == kBlobRefBytes;
  }

 private:
  const std::byte* position_;
  const std::byte* const end_;
  const bool shares_;
};

/// The values in a row's shared blob, which is read when the first of them is wanted.
class SharedBlob {
 public:
  SharedBlob(const RowShape& shape, Bytes row, TableCodec::BlobReader* blobs)
      : reference_(AfterFixed(shape, row)), blobs_(blobs) {}

  /// The next value of the row stands in the blob and is not wanted.
  void Skip() { ++skipped_; }
  /// It is wanted. kCorrupt, and errors of reading.
  Status Next(Bytes* value) {
    if (position_ == nullptr) {
      Result<Bytes> read = blobs_->Read(LoadBlobRef(reference_));
      if (!read.ok()) return read.status();
      position_ = read->data();
      end_ = read->data() + read->size();
    }
    for (++skipped_; skipped_ > 0; --skipped_) {
      uint64_t size = 0;
      position_ = GetVarint(position_, end_, &size);
      if (position_ == nullptr || size > static_cast<uint64_t>(end_ - position_)) {
        return Status(Code::kCorrupt, "malformed shared value");
      }
      *value = {position_, size};
      position_ += size;
    }
    return Status::Ok();
  }

 private:
  const std::byte* const reference_;
  TableCodec::BlobReader* const blobs_;
  const std::byte* position_ = nullptr;
  const std::byte* end_ = nullptr;
  uint32_t skipped_ = 0;
};

/// The value of one column wherever it stands; `*value` is what the row says.
Status FetchValue(PlacedValue::Place place, SharedBlob* shared, TableCodec::BlobReader* blobs,
                  Bytes* value) {
  if (place == PlacedValue::Place::kInRow) return Status::Ok();
  if (place == PlacedValue::Place::kSharedBlob) return shared->Next(value);
  Result<Bytes> blob = blobs->Read(LoadBlobRef(value->data()));
  if (!blob.ok()) return blob.status();
  *value = *blob;
  return Status::Ok();
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

Status TableCodec::EncodeRow(const unsigned char* record, size_t key_bytes, BlobWriter* blobs,
                             ByteBuffer* row) const {
  const TableLayout& layout = *layout_;
  const RowRoom room = RoomFor(layout, key_bytes);
  row->assign(room.fixed_bytes, std::byte{0});
  (*row)[0] = static_cast<std::byte>(layout.generation << 1);
  std::memcpy(row->data() + 1, record, layout.null_bytes);
  for (const CopyRun& run : layout.runs) {
    std::memcpy(row->data() + layout.row_header_bytes() + run.row_offset,
                record + run.record_offset, run.length);
  }
  size_t total = row->size();
  for (const uint32_t c : layout.variable_columns) {
    const ColumnInfo& column = layout.columns[c];
    if (!column.IsNull(record)) total += InRowBytes(column.Value(record).size());
  }
  if (total > room.wanted_bytes) return EncodeLargeRow(record, room, blobs, row);
  for (const uint32_t c : layout.variable_columns) {
    const ColumnInfo& column = layout.columns[c];
    if (!column.IsNull(record)) AppendInRow(column.Value(record), row);
  }
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
  if (!PlaceValues(room, &values)) return Status(Code::kTooBig, "row too large");
  std::optional<BlobRef> shared;
  const Status status = WriteBlobs(blobs, &values, &shared);
  if (!status.ok()) return status;
  if (shared.has_value()) {
    (*row)[0] |= kSharedBit;
    AppendRef(*shared, row);
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
  for (uint32_t i = 0; i < shape->variable_columns; ++i) {
    if (RowIsNull(layout_->columns[layout_->variable_columns[i]], row)) continue;
    Bytes value;
    PlacedValue::Place place;
    if (!reader.Next(&value, &place)) return;
    if (place == PlacedValue::Place::kOwnBlob) refs->push_back(LoadBlobRef(value.data()));
  }
}

Status TableCodec::DecodeRow(Bytes key, Bytes row, const void* columns, BlobReader* blobs,
                             void* target) const {
  const TableLayout& layout = *layout_;
  const auto* wanted = static_cast<const MY_BITMAP*>(columns);
  auto* record = static_cast<unsigned char*>(target);
  const RowShape* shape = CompleteShapeOf(layout, row);
  if (shape == nullptr) return Status(Code::kCorrupt, "malformed row");
  PoisonRecord(record, layout.record_bytes);
  std::memcpy(record, row.data() + 1, shape->null_bytes);
  if (shape == &layout.shape) [[likely]] {
    const size_t header = layout.row_header_bytes();
    for (const CopyRun& run : layout.runs) {
      std::memcpy(record + run.record_offset, row.data() + header + run.row_offset, run.length);
    }
  } else {
    FillFromFormerRow(layout, *shape, row, record);
  }
  layout.FillNulls(record);  // the bytes just copied mean nothing for NULL columns
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
  VariableReader reader(*shape, row);
  SharedBlob shared(*shape, row, blobs);
  for (uint32_t i = 0; i < shape->variable_columns; ++i) {
    const ColumnInfo& column = layout.columns[layout.variable_columns[i]];
    if (column.IsNull(record)) continue;
    Bytes value;
    PlacedValue::Place place;
    if (!reader.Next(&value, &place)) return Status(Code::kCorrupt, "malformed row");
    if (!Wanted(wanted, column)) {
      if (place == PlacedValue::Place::kSharedBlob) shared.Skip();
      continue;
    }
    const Status status = FetchValue(place, &shared, blobs, &value);
    if (!status.ok()) return status;
    if (!column.Store(value, record)) return Status(Code::kCorrupt, "malformed row");
  }
  return Status::Ok();
}

}  // namespace rowan
