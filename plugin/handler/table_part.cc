// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/handler/table_part.h"

#include "plugin/server/instance.h"

namespace rowan {

void TablePart::MakeReader(TABLE* server_table) {
  if (ComputedColumns::AreIn(*server_table)) {
    computed_columns_ = std::make_unique<ComputedColumns>(server_table, &codec());
  }
  reader_ = std::make_unique<TableCursor>(g_engine, table(), row_codec());
}

TableWriter* TablePart::WriterFor(Session* session, StoredEntries* stored_entries) {
  if (writer_ == nullptr) {
    writer_ = std::make_unique<TableWriter>(session, table(), row_codec(), stored_entries);
  }
  writer_->SetSession(session);
  return writer_.get();
}

}  // namespace rowan
