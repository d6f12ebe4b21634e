// SPDX-License-Identifier: GPL-2.0-only
// How a table definition is stored in the catalog (docs/formats/catalog.md): in one row if small
// enough, else in pieces, one row each. The first row holds the name and fixed bytes after it, so a
// RENAME changes only the first row. It is written last: where it is, all are.
// Thread safety: one thread per object.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/status.h"
#include "engine/catalog/table_def.h"

namespace rowan {

/// Key of a table's statistics: after the definition's first row.
std::array<std::byte, 9> StatisticsKeyOf(TableId table);
/// Key of the first row (`piece` 0) or of a further one.
std::string CatalogKey(TableId table, uint32_t piece);

/// The rows of a definition, first row first; one row if it fits. `page_size_bytes` bounds them.
std::vector<std::string> EncodeCatalogRows(const TableDef& definition, uint32_t page_size_bytes);
/// The first row of as many rows as before (`rows`), for a change of the name only.
std::string EncodeFirstCatalogRow(const TableDef& definition, uint32_t page_size_bytes,
                                  uint32_t rows);

/// Reassembles definitions from rows in key order.
class CatalogRowJoiner {
 public:
  struct Joined {
    TableDef definition;
    uint32_t rows = 0;
  };

  /// Takes a row. Pieces without a first row (left by an unfinished CREATE) are skipped. kCorrupt,
  /// kNewerFormat.
  Status Add(Bytes key, Bytes row);
  /// After the last row. kCorrupt when pieces are missing.
  Status Finish();
  /// Forgets the definition being assembled.
  void Abandon() { rows_ = 0; }
  [[nodiscard]] std::vector<Joined>& joined() { return joined_; }

 private:
  std::vector<Joined> joined_;
  std::string first_key_;
  std::string text_;   ///< of the definition being assembled
  uint32_t rows_ = 0;  ///< its rows; 0: none is being assembled
  uint32_t rows_seen_ = 0;
};

}  // namespace rowan
