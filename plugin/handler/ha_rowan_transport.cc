// SPDX-License-Identifier: GPL-2.0-only
// A table that goes from one server to another (docs/export.md): FLUSH TABLES ... FOR EXPORT writes
// a file of its rows next to the server's own files and removes it again with UNLOCK TABLES;
// DISCARD TABLESPACE replaces a table by an empty one that no session may use; IMPORT TABLESPACE
// fills a new one from such a file. All but the files is part of the server's dictionary
// transaction.
#include "plugin/server/abi_guard.h"

#include "plugin/handler/ha_rowan.h"

#include <cstring>

#include "mysql/plugin.h"
#include "mysqld_error.h"
#include "sql/dd/properties.h"
#include "sql/dd/types/table.h"
#include "sql/sql_base.h"
#include "sql/sql_class.h"

#include "engine/bulk_load.h"
#include "engine/engine.h"
#include "engine/export_file.h"
#include "engine/table_writer.h"
#include "plugin/handler/data_directory.h"
#include "plugin/handler/discarded_table.h"
#include "plugin/handler/partition_names.h"
#include "plugin/handler/table_description.h"
#include "plugin/handler/transport_rows.h"
#include "plugin/server/error_map.h"
#include "plugin/server/instance.h"
#include "plugin/server/instruments.h"
#include "plugin/server/system_variables.h"

namespace rowan {
namespace {

/// Next to the server's files of the table; that of a partition has its name after the table's.
std::string ExportPath(const TABLE& table, const Table& engine_table) {
  const std::string name = engine_table.name();
  return std::string(table.s->normalized_path.str) +
         name.substr(NameWithoutPartition(name).size()) + kExportExtension;
}

/// Of one name in a path, as file systems have it.
constexpr size_t kFileNameBytesMax = 255;

/// Names of partitions are in those of exported files only, so a table can be without having one.
bool HasExportPath(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  const std::string stem = name.substr(0, name.rfind('.'));
  return stem.size() + std::strlen(kUnfinishedExportExtension) <= kFileNameBytesMax;
}

int RefuseExportPath(const std::string& table) {
  my_error(ER_PATH_LENGTH, MYF(0), table.c_str());
  return HA_ERR_GENERIC;
}

std::string NameOf(const TABLE_SHARE& share, const Table& engine_table) {
  const std::string partition = PartitionInName(engine_table.name());
  return std::string("`") + share.db.str + "`.`" + share.table_name.str + "`" +
         (partition.empty() ? "" : " partition " + partition);
}

/// How many of a file's rows are in, for the statement's stage.
class ImportProgress {
 public:
  explicit ImportProgress(WorkProgress* shown) : shown_(shown) {}

  void Show(const ExportReader& reader, uint64_t rows) {
    // The file tells their number at its end only: from the part that was read.
    if (!begun_)
      shown_->Begin(WorkPhase::kReadRows, rows * reader.file_bytes() / reader.read_bytes());
    begun_ = true;
    shown_->Completed(rows);
  }

 private:
  WorkProgress* const shown_;
  bool begun_ = false;
};

Status CheckKilled(THD* thd) {
  return thd_killed(thd) == 0 ? Status::Ok()
                              : Status(Code::kInterrupted, "the statement was killed");
}

}  // namespace

// --- FLUSH TABLES ... FOR EXPORT ---

int ha_rowan::Export() {
  const std::string path = ExportPath(*table, *engine_table());
  if (!HasExportPath(path)) return RefuseExportPath(NameOf(*table_share, *engine_table()));
  export_paths_.push_back(path);
  return Fail(WriteExport(export_paths_.back()));
}

Status ha_rowan::WriteExport(const std::string& path) {
  RowTransport transport(table);
  Status status = transport.Prepare(g_engine->options().storage.page_size_bytes, codec());
  if (!status.ok()) return status;
  Result<std::unique_ptr<ExportWriter>> writer =
      ExportWriter::Create(g_engine->file_system(), path, transport.Header());
  if (!writer.ok()) return writer.status();
  // What is committed now; the metadata lock keeps writers away.
  const std::unique_ptr<Session> session = g_engine->NewSession();
  session->Begin(IsolationLevel::kRepeatableRead);
  session->OpenSnapshot();
  TableCursor cursor(session.get(), engine_table(), &codec());
  cursor.SetColumns(nullptr, RowKeys::kKeep);
  cursor.OpenScan(0);
  status = cursor.SeekFirst(table->record[0]);
  while (status.ok()) {
    ExportedRow row;
    status = transport.Pack(cursor.row_key(), &row);
    if (!status.ok()) return status;
    status = (*writer)->Add(row);
    if (!status.ok()) return status;
    status = CheckKilled(ha_thd());
    if (!status.ok()) return status;
    status = cursor.Next(table->record[0]);
  }
  if (!status.Is(Code::kEndOfRange)) return status;
  return (*writer)->Finish(engine_table()->auto_increment());
}

void ha_rowan::RemoveExports(const char* name) {
  if (!HasExportPath(std::string(name) + kExportExtension)) return;
  for (const char* extension : {kExportExtension, kUnfinishedExportExtension}) {
    // A file that cannot be removed does no harm.
    ExportWriter::Remove(g_engine->file_system(), std::string(name) + extension).Ignore();
  }
}

void ha_rowan::EndExport() {
  for (const std::string& path : export_paths_) {
    ExportWriter::Remove(g_engine->file_system(), path).Ignore();  // the file system has logged why
  }
  export_paths_.clear();
}

// --- ALTER TABLE ... DISCARD and IMPORT TABLESPACE ---

int ha_rowan::discard_or_import_tablespace(bool discard, dd::Table* table_def) {
  if (is_temporary()) {
    my_error(ER_CANNOT_DISCARD_TEMPORARY_TABLE, MYF(0));
    return HA_ERR_WRONG_COMMAND;
  }
  const bool unchecked = thd_test_options(ha_thd(), OPTION_NO_FOREIGN_KEY_CHECKS) != 0;
  if (discard && !unchecked && !part_->share()->discarded() &&
      table_share->is_referenced_by_foreign_key()) {
    return HA_ERR_ROW_IS_REFERENCED;
  }
  uint64_t id = 0;
  const int error = DiscardOrImport(discard, &table_def->se_private_data(), &id);
  if (error == 0) table_def->set_se_private_id(id);
  return error;
}

int ha_rowan::DiscardOrImport(bool discard, dd::Properties* properties, uint64_t* id) {
  THD* thd = ha_thd();
  if (!HasExportPath(ExportPath(*table, *engine_table()))) {
    return RefuseExportPath(NameOf(*table_share, *engine_table()));
  }
  const bool discarded = IsDiscarded(*properties);
  if (discard && discarded) {
    NoteDiscarded(thd, NameOf(*table_share, *engine_table()).c_str());
    *id = engine_table()->id().value();
    return 0;
  }
  if (!discard && !discarded) {
    my_error(ER_TABLESPACE_EXISTS, MYF(0), NameOf(*table_share, *engine_table()).c_str());
    return HA_ERR_TABLESPACE_EXISTS;
  }
  ThdContext* context = ContextOf(thd);
  Status status = EnterCatalogChange(thd, context);
  if (!status.ok()) return Fail(status);
  Result<std::shared_ptr<Table>> replaced = discard ? MakeEmpty() : Import();
  if (!replaced.ok()) return thd->is_error() ? HA_ERR_GENERIC : Fail(replaced.status());
  status = g_engine->DropTable(context->session.get(), engine_table()->id());
  if (!status.ok()) return Fail(status);
  *id = (*replaced)->id().value();
  SetDiscarded(discard, properties);
  if (discard && !part_->share()->counted()) SetCounterLost(properties);
  // The next session that opens the table finds a different one in the engine.
  tdc_remove_table(thd, TDC_RT_REMOVE_NOT_OWN, table_share->db.str, table_share->table_name.str,
                   false);
  return 0;
}

Result<std::shared_ptr<Table>> ha_rowan::MakeEmpty() {
  RowTransport transport(table);
  const Status status = transport.Prepare(g_engine->options().storage.page_size_bytes, codec());
  if (!status.ok()) return status;
  Session* session = ContextOf(ha_thd())->session.get();
  // Values that were handed out are not handed out again, here or in the other partitions.
  TableDef definition = transport.Definition(engine_table()->name());
  const Status placed = KeepDirectory(engine_table()->id(), &definition);
  if (!placed.ok()) return placed;
  return g_engine->CreateTable(session, std::move(definition), engine_table()->auto_increment());
}

Result<std::shared_ptr<Table>> ha_rowan::Import() {
  RowTransport transport(table);
  Status status = transport.Prepare(g_engine->options().storage.page_size_bytes, codec());
  if (!status.ok()) return status;
  Result<std::unique_ptr<ExportReader>> reader =
      ExportReader::Open(g_engine->file_system(), ExportPath(*table, *engine_table()));
  if (reader.status().Is(Code::kNotFound)) {
    my_error(ER_TABLESPACE_MISSING, MYF(0), NameOf(*table_share, *engine_table()).c_str());
  }
  if (!reader.ok()) return reader.status();
  const std::string difference = transport.Difference((*reader)->header());
  if (!difference.empty()) {
    my_error(ER_TABLE_SCHEMA_MISMATCH, MYF(0), difference.c_str());
    return Status(Code::kInvalidArgument, "the exported table is another one");
  }
  Session* session = ContextOf(ha_thd())->session.get();
  TableDef definition = transport.Definition(engine_table()->name());
  status = KeepDirectory(engine_table()->id(), &definition);
  if (!status.ok()) return status;
  Result<std::shared_ptr<Table>> created = g_engine->CreateTable(session, std::move(definition));
  if (!created.ok()) return created;
  status = FillImported(reader->get(), &transport, created->get());
  if (!status.ok()) return status;
  return created;
}

Status ha_rowan::FillImported(ExportReader* reader, RowTransport* transport, Table* target) {
  Session* session = ContextOf(ha_thd())->session.get();
  const StatementStages stages(ha_thd(), session);
  ImportProgress progress(session->progress());
  BulkLoad load(session, target,
                {.sort_memory_bytes = kLoadMemoryBytes, .threads = DdlThreads(ha_thd())});
  TableWriter writer(session, target, &transport->codec());
  ExportedRow row;
  uint64_t count = 0;
  for (;; ++count) {
    Result<bool> more = reader->Next(&row);
    if (!more.ok()) return more.status();
    if (!*more) break;
    Status status = transport->Unpack(row);
    if (!status.ok()) return status;
    status = writer.Load(&load, table->record[0], row.key);
    if (!status.ok()) return status;
    status = CheckKilled(ha_thd());
    if (!status.ok()) return status;
    if (count != 0 && count % kInterruptionStride == 0) progress.Show(*reader, count);
  }
  progress.Show(*reader, count);
  Status status = load.Finish();
  if (status.Is(Code::kDuplicate)) return ShowImportedDuplicate(status, *transport, load, target);
  if (!status.ok()) return status;
  status = target->LoadCounters();
  if (!status.ok()) return status;
  return target->SetAutoIncrement(
      std::max(reader->end().auto_increment, engine_table()->auto_increment()));
}

Status ha_rowan::ShowImportedDuplicate(Status status, const RowTransport& transport,
                                       const BulkLoad& load, Table* target) {
  ByteBuffer scratch;
  const RowCodec& imported = transport.codec();
  Result<Bytes> key = imported.ClusteredKeyOf(status.detail(), load.duplicate_key(), &scratch);
  if (!key.ok()) return key.status();
  TableCursor cursor(ContextOf(ha_thd())->session.get(), target, &imported);
  const Status read = cursor.GetRow(*key, table->record[0]);
  if (!read.ok()) return read;
  KEY* duplicate = &table->key_info[codec().KeyOfIndexNumber(status.detail())];
  print_keydup_error(table, duplicate, MYF(0), table_share->table_name.str);
  return status;
}

}  // namespace rowan
