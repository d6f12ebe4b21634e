// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/handler/table_part.h"

#include "mysqld_error.h"
#include "sql/sql_class.h"
#include "sql/sql_error.h"
#include "sql/table.h"

#include "base/logging.h"
#include "plugin/handler/foreign_keys.h"
#include "plugin/server/instance.h"
#include "plugin/server/statement_kind.h"
#include "plugin/server/thd_context.h"

namespace rowan {

void TablePart::MakeReader() {
  if (ComputedColumns::AreIn(*server_table_)) {
    computed_columns_ = std::make_unique<ComputedColumns>(server_table_, &codec());
  }
  reader_ = std::make_unique<TableCursor>(g_engine, table(), row_codec());
  if (CascadesMayReturn(*server_table_->s)) {
    reread_row_ = std::make_unique<RereadRow>(server_table_, table(), row_codec());
  }
}

TableWriter* TablePart::WriterFor(Session* session) {
  if (writer_ == nullptr) {
    stored_entries_ = std::make_unique<StoredEntryFinder>(share_);
    writer_ = std::make_unique<TableWriter>(session, table(), row_codec(), stored_entries_.get());
  }
  stored_entries_->SetSession(session);
  writer_->SetSession(session);
  return writer_.get();
}

Status TablePart::FindStored(const uchar* read, Session* session, StoredRecord* row) {
  *row = {.record = read, .cursor = reader()};
  if (reread_row_ == nullptr) return Status::Ok();
  ComputeColumns(true);
  scan.prepared = false;  // that holds for the reader as well
  return reread_row_->Read(read, reader(), session, row);
}

void TablePart::ReportSalvage(THD* thd) {
  const std::string report = reader()->TakeSalvageReport();
  if (report.empty()) return;
  LogWarning("{}", report);
  push_warning(thd, Sql_condition::SL_WARNING, ER_TABLE_CORRUPT, report.c_str());
}

void TablePart::EndStatement(THD* thd) {
  load.reset();
  scan.prepared = false;
  if (stored_entries_ != nullptr) stored_entries_->Forget();
  if (reread_row_ != nullptr) reread_row_->GiveBackBuffers();
  if (reader_ == nullptr) return;
  reader_->GiveBackBuffers();
  ReportSalvage(thd);
  reader_->ForgetSalvage();
  if (!reader_->HasCounts()) return;
  ThdContext* context = FindContext(thd);
  reader_->PublishCounts(KindOfStatement(thd), context == nullptr ? nullptr : &context->reads);
}

}  // namespace rowan
