// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/handler/table_transport.h"

#include <cstring>

#include "mysql/plugin.h"
#include "mysqld_error.h"
#include "sql/current_thd.h"
#include "sql/dd/properties.h"
#include "sql/sql_base.h"
#include "sql/sql_class.h"
#include "sql/table.h"

#include "engine/engine.h"
#include "engine/export_file.h"
#include "engine/table_writer.h"
#include "plugin/handler/data_directory.h"
#include "plugin/handler/discarded_table.h"
#include "plugin/handler/partition_names.h"
#include "plugin/handler/table_part.h"
#include "plugin/server/error_map.h"
#include "plugin/server/instance.h"
#include "plugin/server/instruments.h"
#include "plugin/server/system_variables.h"
#include "plugin/server/thd_context.h"

namespace rowan {
namespace {

/// Next to the server's files of the table; a partition's name follows the table's.
std::string ExportPath(const TABLE& table, const Table& engine_table) {
  const std::string name = engine_table.name();
  return std::string(table.s->normalized_path.str) +
         name.substr(NameWithoutPartition(name).size()) + kExportExtension;
}

/// Most bytes of one name in a path in usual file systems.
constexpr size_t kFileNameBytesMax = 255;

/// Only names of exported files include partitions, so a table can lack a valid one.
bool HasExportPath(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  const std::string stem = name.substr(0, name.rfind('.'));
  return stem.size() + std::strlen(kUnfinishedExportExtension) <= kFileNameBytesMax;
}

/// How many of a file's rows have been imported, for the statement's stage.
class ImportProgress {
 public:
  explicit ImportProgress(WorkProgress* shown) : shown_(shown) {}

  void Show(const ExportReader& reader, uint64_t rows) {
    // The file has their number only at its end: estimate it from the part that was read.
    if (!begun_)
      shown_->Begin(WorkPhase::kReadRows, rows * reader.file_bytes() / reader.read_bytes());
    begun_ = true;
    shown_->Completed(rows);
  }

 private:
  WorkProgress* const shown_;
  bool begun_ = false;
};

Status CheckKilled() {
  return thd_killed(current_thd) == 0 ? Status::Ok()
                                      : Status(Code::kInterrupted, "the statement was killed");
}

}  // namespace

TableTransport::TableTransport(TABLE* table, const TableShare* share)
    : table_(table), share_(*share), path_(ExportPath(*table, *share->table())), rows_(table) {}

std::string TableTransport::UserName() const { return NameForUsers(*table_->s, *share_.table()); }

int TableTransport::RefusePath() const {
  my_error(ER_PATH_LENGTH, MYF(0), UserName().c_str());
  return HA_ERR_GENERIC;
}

Status TableTransport::Prepare() {
  return rows_.Prepare(g_engine->options().storage.page_size_bytes, share_.codec());
}

// --- FLUSH TABLES ... FOR EXPORT ---

int TableTransport::Export(std::vector<std::string>* files) {
  if (!HasExportPath(path_)) return RefusePath();
  files->push_back(path_);
  return HandlerError(current_thd, WriteRows());
}

Status TableTransport::WriteRows() {
  Status status = Prepare();
  if (!status.ok()) return status;
  Result<std::unique_ptr<ExportWriter>> writer =
      ExportWriter::Create(g_engine->file_system(), path_, rows_.Header());
  if (!writer.ok()) return writer.status();
  // Reads what is committed now; the metadata lock keeps writers away.
  const std::unique_ptr<Session> session = g_engine->NewSession();
  session->Begin(IsolationLevel::kRepeatableRead);
  session->OpenSnapshot();
  TableCursor cursor(session.get(), share_.table(), &share_.codec());
  cursor.SetColumns(nullptr, RowKeys::kKeep);
  cursor.OpenScan(0);
  status = cursor.SeekFirst(table_->record[0]);
  while (status.ok()) {
    ExportedRow row;
    status = rows_.Pack(cursor.row_key(), &row);
    if (!status.ok()) return status;
    status = (*writer)->Add(row);
    if (!status.ok()) return status;
    status = CheckKilled();
    if (!status.ok()) return status;
    status = cursor.Next(table_->record[0]);
  }
  if (!status.Is(Code::kEndOfRange)) return status;
  return (*writer)->Finish(share_.table()->auto_increment());
}

void RemoveExports(std::vector<std::string>* files) {
  for (const std::string& path : *files) {
    ExportWriter::Remove(g_engine->file_system(), path).Ignore();  // the file system has logged why
  }
  files->clear();
}

void RemoveExportsOf(const char* name) {
  if (!HasExportPath(std::string(name) + kExportExtension)) return;
  for (const char* extension : {kExportExtension, kUnfinishedExportExtension}) {
    // A file that cannot be removed does no harm.
    ExportWriter::Remove(g_engine->file_system(), std::string(name) + extension).Ignore();
  }
}

// --- ALTER TABLE ... DISCARD and IMPORT TABLESPACE ---

int TableTransport::DiscardOrImport(bool discard, dd::Properties* properties, uint64_t* id) {
  THD* thd = current_thd;
  if (!HasExportPath(path_)) return RefusePath();
  const bool discarded = IsDiscarded(*properties);
  if (discard && discarded) {
    NoteDiscarded(thd, UserName().c_str());
    *id = share_.table()->id().value();
    return 0;
  }
  if (!discard && !discarded) {
    my_error(ER_TABLESPACE_EXISTS, MYF(0), UserName().c_str());
    return HA_ERR_TABLESPACE_EXISTS;
  }
  ThdContext* context = ContextOf(thd);
  Status status = EnterCatalogChange(thd, context);
  if (!status.ok()) return HandlerError(thd, status);
  Result<std::shared_ptr<Table>> replaced = MakeReplacement(discard);
  if (!replaced.ok()) {
    return thd->is_error() ? HA_ERR_GENERIC : HandlerError(thd, replaced.status());
  }
  status = g_engine->DropTable(context->session.get(), share_.table()->id());
  if (!status.ok()) return HandlerError(thd, status);
  *id = (*replaced)->id().value();
  SetDiscarded(discard, properties);
  if (discard && !share_.counted()) SetCounterLost(properties);
  // The next session that opens the table finds a different one in the engine.
  tdc_remove_table(thd, TDC_RT_REMOVE_NOT_OWN, table_->s->db.str, table_->s->table_name.str, false);
  return 0;
}

Result<std::shared_ptr<Table>> TableTransport::MakeReplacement(bool discard) {
  Table* const former = share_.table();
  Status status = Prepare();
  if (!status.ok()) return status;
  std::unique_ptr<ExportReader> reader;
  if (!discard) {
    Result<std::unique_ptr<ExportReader>> opened = OpenFile();
    if (!opened.ok()) return opened.status();
    reader = std::move(*opened);
  }
  TableDef definition = rows_.Definition(former->name());
  status = KeepDirectory(former->id(), &definition);
  if (!status.ok()) return status;
  // Values that were handed out are not reused, here or in the other partitions.
  Result<std::shared_ptr<Table>> created =
      g_engine->CreateTable(ContextOf(current_thd)->session.get(), std::move(definition),
                            discard ? former->auto_increment() : 0);
  if (!created.ok() || discard) return created;
  status = Fill(reader.get(), created->get());
  if (!status.ok()) return status;
  return created;
}

Result<std::unique_ptr<ExportReader>> TableTransport::OpenFile() const {
  Result<std::unique_ptr<ExportReader>> reader = ExportReader::Open(g_engine->file_system(), path_);
  if (reader.status().Is(Code::kNotFound)) {
    my_error(ER_TABLESPACE_MISSING, MYF(0), UserName().c_str());
  }
  if (!reader.ok()) return reader;
  const std::string difference = rows_.Difference((*reader)->header());
  if (difference.empty()) return reader;
  my_error(ER_TABLE_SCHEMA_MISMATCH, MYF(0), difference.c_str());
  return Status(Code::kInvalidArgument, "the exported table is another one");
}

Status TableTransport::Fill(ExportReader* reader, Table* target) {
  Session* session = ContextOf(current_thd)->session.get();
  const StatementStages stages(current_thd, session);
  ImportProgress progress(session->progress());
  BulkLoad load(session, target,
                {.sort_memory_bytes = kLoadMemoryBytes, .threads = DdlThreads(current_thd)});
  TableWriter writer(session, target, &rows_.codec());
  ExportedRow row;
  uint64_t count = 0;
  for (;; ++count) {
    Result<bool> more = reader->Next(&row);
    if (!more.ok()) return more.status();
    if (!*more) break;
    Status status = rows_.Unpack(row);
    if (!status.ok()) return status;
    status = writer.Load(&load, table_->record[0], row.key);
    if (!status.ok()) return status;
    status = CheckKilled();
    if (!status.ok()) return status;
    if (count != 0 && count % kInterruptionStride == 0) progress.Show(*reader, count);
  }
  progress.Show(*reader, count);
  Status status = load.Finish();
  if (status.Is(Code::kDuplicate)) return ShowDuplicate(status, load, target);
  if (!status.ok()) return status;
  status = target->LoadCounters();
  if (!status.ok()) return status;
  return target->SetAutoIncrement(
      std::max(reader->end().auto_increment, share_.table()->auto_increment()));
}

Status TableTransport::ShowDuplicate(Status status, const BulkLoad& load, Table* target) {
  ByteBuffer scratch;
  const RowCodec& imported = rows_.codec();
  Result<Bytes> key = imported.ClusteredKeyOf(status.detail(), load.duplicate_key(), &scratch);
  if (!key.ok()) return key.status();
  TableCursor cursor(ContextOf(current_thd)->session.get(), target, &imported);
  const Status read = cursor.GetRow(*key, table_->record[0]);
  if (!read.ok()) return read;
  KEY* duplicate = &table_->key_info[share_.codec().KeyOfIndexNumber(status.detail())];
  print_keydup_error(table_, duplicate, MYF(0), table_->s->table_name.str);
  return status;
}

}  // namespace rowan
