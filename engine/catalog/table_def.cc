// SPDX-License-Identifier: GPL-2.0-only
// Catalog row, version 1: version u8, then varints and length-prefixed strings in the order of
// TableDef: table id, space id, name, descriptor, index count, and per index: id, root, flags,
// name, descriptor.
#include "engine/catalog/table_def.h"

#include "engine/catalog/catalog_fields.h"

namespace rowan {
namespace {

constexpr uint8_t kTableDefVersion = 1;
constexpr uint64_t kIndexesMax = 65;  // the server's 64 keys and the hidden clustered one

IndexDef ReadIndexDef(CatalogFieldReader* reader) {
  IndexDef index;
  index.id = IndexId(reader->Number());
  index.root = PageNumber(static_cast<uint32_t>(reader->Number()));
  const uint64_t flags = reader->Number();
  index.clustered = (flags & 1) != 0;
  index.unique = (flags & 2) != 0;
  index.name = reader->Text();
  index.descriptor = reader->Text();
  return index;
}

}  // namespace

std::string EncodeTableDef(const TableDef& definition, size_t* name_end) {
  std::string row(1, static_cast<char>(kTableDefVersion));
  PutNumber(&row, definition.id.value());
  PutNumber(&row, definition.space.value());
  PutText(&row, definition.name);
  if (name_end != nullptr) *name_end = row.size();
  PutText(&row, definition.descriptor);
  PutNumber(&row, definition.indexes.size());
  for (const IndexDef& index : definition.indexes) {
    PutNumber(&row, index.id.value());
    PutNumber(&row, index.root.value());
    PutNumber(&row, (index.clustered ? 1u : 0u) | (index.unique ? 2u : 0u));
    PutText(&row, index.name);
    PutText(&row, index.descriptor);
  }
  return row;
}

Result<TableDef> DecodeTableDef(Bytes row) {
  if (row.empty()) return Status(Code::kCorrupt, "empty catalog row");
  const auto version = static_cast<uint8_t>(row[0]);
  if (version > kTableDefVersion) return Status(Code::kNewerFormat, "newer catalog row format");
  if (version == 0) return Status(Code::kCorrupt, "catalog row without version");
  CatalogFieldReader reader(row.subspan(1));
  TableDef definition;
  definition.id = TableId(reader.Number());
  definition.space = SpaceId(static_cast<uint32_t>(reader.Number()));
  definition.name = reader.Text();
  definition.descriptor = reader.Text();
  const uint64_t count = reader.Number();
  if (!reader.ok() || count == 0 || count > kIndexesMax) {
    return Status(Code::kCorrupt, "malformed catalog row");
  }
  for (uint64_t i = 0; i < count && reader.ok(); ++i) {
    definition.indexes.push_back(ReadIndexDef(&reader));
  }
  if (!reader.ok()) return Status(Code::kCorrupt, "malformed catalog row");
  return definition;
}

}  // namespace rowan
