// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/codec/spatial_entry.h"

#include <bit>

#include "engine/catalog/limits.h"
#include "plugin/codec/spatial_reference.h"
#include "plugin/codec/table_layout.h"
#include "sql/table.h"

namespace rowan {
namespace {

void AppendDouble(double number, ByteBuffer* bytes) {
  bytes->resize(bytes->size() + sizeof(number));
  StoreLe<uint64_t>(bytes->data() + bytes->size() - sizeof(number),
                    std::bit_cast<uint64_t>(number));
}

double DoubleAt(Bytes bytes, size_t number) {
  return std::bit_cast<double>(LoadLe<uint64_t>(bytes.data() + number * sizeof(double)));
}

}  // namespace

bool MakeSpatialPart(const TABLE* table, uint32_t column, IndexLayout* index,
                     std::string* refusal) {
  index->spatial = SpatialReference::Make(*table->field[column], refusal);
  if (index->spatial == nullptr) return false;
  KeyPartCodec part;
  part.encoding = KeyEncoding::kRaw;
  part.column = column;
  part.length = kSpatialCodeBytes;
  part.whole_column = false;
  part.reversible = false;
  index->parts.push_back(part);
  return true;
}

Status EncodeSpatialEntry(const TableLayout& layout, const IndexLayout& index,
                          const unsigned char* record, Bytes clustered_key, ByteBuffer* key,
                          ByteBuffer* payload) {
  const ColumnInfo& column = layout.columns[index.parts[0].column];
  SpatialBox box;
  if (column.IsNull(record) || !index.spatial->BoxOf(column.Value(record), &box)) {
    return Status(Code::kInvalidArgument, kNoGeometry);
  }
  const SpatialCode code = index.spatial->CodeOf(box);
  key->assign(code.begin(), code.end());
  key->insert(key->end(), clustered_key.begin(), clustered_key.end());
  payload->clear();
  AppendDouble(box.x_min, payload);
  if (!box.IsPoint()) AppendDouble(box.x_max, payload);
  AppendDouble(box.y_min, payload);
  if (!box.IsPoint()) AppendDouble(box.y_max, payload);
  const auto most = static_cast<uint32_t>(KeyBytesMax(layout.page_size_bytes));
  return key->size() <= most ? Status::Ok() : Status(Code::kTooBig, kKeyTooLong, most);
}

std::optional<SpatialBox> BoxInPayload(Bytes payload) {
  if (payload.size() == 2 * sizeof(double)) {
    const double x = DoubleAt(payload, 0);
    const double y = DoubleAt(payload, 1);
    return SpatialBox{x, x, y, y};
  }
  if (payload.size() != 4 * sizeof(double)) return std::nullopt;
  return SpatialBox{DoubleAt(payload, 0), DoubleAt(payload, 1), DoubleAt(payload, 2),
                    DoubleAt(payload, 3)};
}

}  // namespace rowan
