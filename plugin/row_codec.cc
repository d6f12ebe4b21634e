// SPDX-License-Identifier: GPL-2.0-only
// Rows, version 0 (docs/formats/rows.md):
//
//   u8 row version (0; instant column changes will count it up)
//   null bitmap of the server's record
//   fixed area: the fixed-size columns in field order; bytes of NULL columns mean nothing
//   variable columns in field order, not NULL: varint (length << 1 | off-page), then the bytes or,
//   when off-page, a 16-byte BlobRef
// Columns that the clustered key gives back are not stored.
#include <algorithm>

#include "my_bitmap.h"
#include "plugin/table_codec.h"
#include "plugin/table_layout.h"
#include "sql/table.h"

namespace rowan {
namespace {

constexpr std::byte kRowVersion{0};

/// Rows larger than this move their longest values off the page.
size_t InlineRowBytesMax(const TableLayout& layout) { return layout.page_size_bytes / 4; }

bool Wanted(const MY_BITMAP* columns, const ColumnInfo& column) {
  return columns == nullptr || bitmap_is_set(columns, column.field);
}

struct VariableValue {
  uint32_t column = 0;
  Bytes value;
  bool outsourced = false;
  BlobRef ref;
};

/// Chooses the longest values until the rest fits, and writes them.
Status Outsource(size_t row_bytes, size_t row_bytes_max, TableCodec::BlobWriter* blobs,
                 std::vector<VariableValue>* values) {
  while (row_bytes > row_bytes_max) {
    VariableValue* longest = nullptr;
    for (VariableValue& value : *values) {
      if (value.outsourced) continue;
      if (longest == nullptr || value.value.size() > longest->value.size()) longest = &value;
    }
    if (longest == nullptr || longest->value.size() <= kBlobRefBytes) {
      return Status(Code::kTooBig, "row too large");
    }
    TableCodec::Outsourced request{longest->column, longest->value, {}};
    const Status status = blobs->Write(&request);
    if (!status.ok()) return status;
    longest->outsourced = true;
    longest->ref = request.ref;
    row_bytes -= longest->value.size() - kBlobRefBytes;
  }
  return Status::Ok();
}

void AppendVariable(const VariableValue& value, ByteBuffer* row) {
  std::byte header[kVarintBytesMax];
  if (!value.outsourced) {
    row->insert(row->end(), header, PutVarint(header, uint64_t{value.value.size()} << 1));
    row->insert(row->end(), value.value.begin(), value.value.end());
    return;
  }
  row->insert(row->end(), header, PutVarint(header, (uint64_t{kBlobRefBytes} << 1) | 1));
  row->resize(row->size() + kBlobRefBytes);
  StoreBlobRef(row->data() + row->size() - kBlobRefBytes, value.ref);
}

/// Steps through the variable part of a stored row.
class VariableReader {
 public:
  VariableReader(const TableLayout& layout, Bytes row)
      : position_(row.data() + layout.row_header_bytes() + layout.fixed_bytes),
        end_(row.data() + row.size()) {}

  bool Next(Bytes* value, bool* outsourced) {
    uint64_t header = 0;
    const std::byte* next = GetVarint(position_, end_, &header);
    if (next == nullptr || (header >> 1) > static_cast<uint64_t>(end_ - next)) return false;
    *value = {next, header >> 1};
    *outsourced = (header & 1) != 0;
    position_ = next + (header >> 1);
    return !*outsourced || value->size() == kBlobRefBytes;
  }

 private:
  const std::byte* position_;
  const std::byte* end_;
};

bool RowIsNull(const ColumnInfo& column, Bytes row) {
  return column.nullable() &&
         (static_cast<uint8_t>(row[1 + column.null_offset]) & column.null_bit) != 0;
}

bool RowIsComplete(const TableLayout& layout, Bytes row) {
  return row.size() >= layout.row_header_bytes() + layout.fixed_bytes && row[0] == kRowVersion;
}

}  // namespace

Status TableCodec::EncodeRow(const unsigned char* record, BlobWriter* blobs,
                             ByteBuffer* row) const {
  const TableLayout& layout = *layout_;
  const size_t header = layout.row_header_bytes();
  row->assign(header + layout.fixed_bytes, std::byte{0});
  std::memcpy(row->data() + 1, record, layout.null_bytes);
  for (const CopyRun& run : layout.runs) {
    std::memcpy(row->data() + header + run.row_offset, record + run.record_offset, run.length);
  }
  size_t total = row->size();
  bool fits = true;
  for (const uint32_t c : layout.variable_columns) {
    const ColumnInfo& column = layout.columns[c];
    if (!column.IsNull(record)) total += column.Value(record).size() + 3;
  }
  fits = total <= InlineRowBytesMax(layout);
  if (fits) {
    for (const uint32_t c : layout.variable_columns) {
      const ColumnInfo& column = layout.columns[c];
      if (!column.IsNull(record)) AppendVariable({c, column.Value(record), false, {}}, row);
    }
    return Status::Ok();
  }
  std::vector<VariableValue> values;
  for (const uint32_t c : layout.variable_columns) {
    const ColumnInfo& column = layout.columns[c];
    if (!column.IsNull(record)) values.push_back({c, column.Value(record), false, {}});
  }
  const Status status = Outsource(total, InlineRowBytesMax(layout), blobs, &values);
  if (!status.ok()) return status;
  for (const VariableValue& value : values) AppendVariable(value, row);
  return Status::Ok();
}

void TableCodec::BlobsOf(Bytes row, std::vector<BlobRef>* refs) const {
  refs->clear();
  if (!RowIsComplete(*layout_, row)) return;
  VariableReader reader(*layout_, row);
  for (const uint32_t c : layout_->variable_columns) {
    if (RowIsNull(layout_->columns[c], row)) continue;
    Bytes value;
    bool outsourced = false;
    if (!reader.Next(&value, &outsourced)) return;
    if (outsourced) refs->push_back(LoadBlobRef(value.data()));
  }
}

Status TableCodec::DecodeRow(Bytes key, Bytes row, const MY_BITMAP* columns, BlobReader* blobs,
                             unsigned char* record) const {
  const TableLayout& layout = *layout_;
  if (!RowIsComplete(layout, row)) return Status(Code::kCorrupt, "malformed row");
  const size_t header = layout.row_header_bytes();
  std::memcpy(record, row.data() + 1, layout.null_bytes);
  for (const CopyRun& run : layout.runs) {
    std::memcpy(record + run.record_offset, row.data() + header + run.row_offset, run.length);
  }
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
  VariableReader reader(layout, row);
  for (const uint32_t c : layout.variable_columns) {
    const ColumnInfo& column = layout.columns[c];
    if (column.IsNull(record)) continue;
    Bytes value;
    bool outsourced = false;
    if (!reader.Next(&value, &outsourced)) return Status(Code::kCorrupt, "malformed row");
    if (!Wanted(columns, column)) continue;
    if (outsourced) {
      Result<Bytes> blob = blobs->Read(LoadBlobRef(value.data()));
      if (!blob.ok()) return blob.status();
      value = *blob;
    }
    if (!column.Store(value, record)) return Status(Code::kCorrupt, "malformed row");
  }
  return Status::Ok();
}

}  // namespace rowan
