// SPDX-License-Identifier: GPL-2.0-only
// TableTransport: moves an engine table from one server to another (docs/export.md). FLUSH TABLES
// ... FOR EXPORT writes a file of its rows next to the server's own files, which UNLOCK TABLES
// removes; DISCARD TABLESPACE replaces a table by an empty one that no session may use; IMPORT
// TABLESPACE fills a new one from such a file. All but the files is part of the server's dictionary
// transaction. Thread safety: the thread that uses the table.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/bulk_load.h"
#include "plugin/handler/table_share.h"
#include "plugin/handler/transport_rows.h"

namespace rowan {

class TableTransport {
 public:
  /// `share`: of the engine table, which holds the rows of `table`. Both outlive it.
  TableTransport(TABLE* table, const TableShare* share);

  // Each returns 0, or the handler error.
  /// Appends the name of the file to `files`, even of an incomplete one.
  int Export(std::vector<std::string>* files);
  /// `*id`: of the engine table that replaces it. `properties`: its private ones in the dictionary.
  int DiscardOrImport(bool discard, dd::Properties* properties, uint64_t* id);

 private:
  Status WriteRows();
  Status Prepare();
  /// The table's replacement; errors may have been raised.
  Result<std::shared_ptr<Table>> MakeReplacement(bool discard);
  Result<std::unique_ptr<ExportReader>> OpenFile() const;
  Status Fill(ExportReader* reader, Table* target);
  Status ShowDuplicate(Status status, const BulkLoad& load, Table* target);
  [[nodiscard]] std::string UserName() const;
  [[nodiscard]] int RefusePath() const;

  TABLE* const table_;
  const TableShare& share_;
  const std::string path_;
  RowTransport rows_;
};

/// For UNLOCK TABLES.
void RemoveExports(std::vector<std::string>* files);
/// For DROP TABLE: removes the files under its name.
void RemoveExportsOf(const char* name);

}  // namespace rowan
