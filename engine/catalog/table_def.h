// SPDX-License-Identifier: GPL-2.0-only
// TableDef: the definition of a table as the catalog keeps it. Descriptors are the plugin's own
// serialised column and key part lists: opaque here, compared and shown, never interpreted.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/status.h"

namespace rowan {

struct IndexDef {
  IndexId id;
  PageNumber root;
  std::string name;
  bool clustered = false;
  bool unique = false;
  std::string descriptor;
};

/// For a table to be created: ids and roots are filled in then.
inline IndexDef ClusteredIndex(std::string name) {
  return {.id = {},
          .root = kNoPage,
          .name = std::move(name),
          .clustered = true,
          .unique = true,
          .descriptor = {}};
}
inline IndexDef SecondaryIndex(std::string name, bool unique = false) {
  return {.id = {},
          .root = kNoPage,
          .name = std::move(name),
          .clustered = false,
          .unique = unique,
          .descriptor = {}};
}

struct TableDef {
  TableId id{};
  SpaceId space{};
  std::string name;                 ///< "schema/table" as the server spells it; for messages
  std::string descriptor{};         ///< the user's; kept, and compared when the table is opened
  std::vector<IndexDef> indexes{};  ///< [0] is the clustered one
  /// For a table to be created: the folder for its file instead of the instance's, an absolute
  /// path. Not kept in the catalog: see Engine::DirectoryOf.
  std::string directory{};
};

/// Catalog row format (docs/formats/catalog.md): versioned, checksummed by its page. `*name_end`,
/// if given: start of the bytes that do not depend on the name.
std::string EncodeTableDef(const TableDef& definition, size_t* name_end = nullptr);
/// kCorrupt or kNewerFormat.
Result<TableDef> DecodeTableDef(Bytes row);

}  // namespace rowan
