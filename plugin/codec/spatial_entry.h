// SPDX-License-Identifier: GPL-2.0-only
// Entries of SPATIAL indexes (docs/formats/keys.md): the key is the code of the bounding box
// (spatial_curve.h) followed by the clustered key; the payload is the box itself, as little-endian
// doubles: x and y of a point, otherwise x_min, x_max, y_min, y_max.
// Thread safety: const.
#pragma once

#include <optional>
#include <string>

#include "engine/row_codec.h"
#include "plugin/codec/spatial_curve.h"

struct TABLE;

namespace rowan {

struct IndexLayout;
struct TableLayout;

/// Message of the kInvalidArgument for a value that is not a geometry.
inline constexpr char kNoGeometry[] = "no geometry";

/// Makes the only part of the index. False with a sentence in *refusal.
bool MakeSpatialPart(const TABLE* table, uint32_t column, IndexLayout* index, std::string* refusal);
/// See RowCodec::EncodeEntry. kInvalidArgument: not a geometry.
Status EncodeSpatialEntry(const TableLayout& layout, const IndexLayout& index,
                          const unsigned char* record, Bytes clustered_key, ByteBuffer* key,
                          ByteBuffer* payload);
/// nullopt if malformed.
[[nodiscard]] std::optional<SpatialBox> BoxInPayload(Bytes payload);

}  // namespace rowan
