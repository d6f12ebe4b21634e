// SPDX-License-Identifier: GPL-2.0-only
// CREATE, DROP, RENAME and TRUNCATE of a partitioned table, TRUNCATE and EXCHANGE PARTITION. All
// changes of the catalog are part of the session's transaction, as for a plain table
// (ha_rowan_ddl.cc); the server's dictionary has an engine table's id for each partition.
#include "plugin/server/abi_guard.h"

#include "plugin/partition/ha_rowan_part.h"

#include "mysql/plugin.h"
#include "mysqld_error.h"
#include "sql/dd/properties.h"
#include "sql/dd/types/partition.h"
#include "sql/dd/types/table.h"
#include "sql/partition_info.h"
#include "sql/sql_class.h"

#include "base/logging.h"
#include "plugin/handler/create_checks.h"
#include "plugin/handler/data_directory.h"
#include "plugin/handler/discarded_table.h"
#include "plugin/handler/partition_names.h"
#include "plugin/handler/table_description.h"
#include "plugin/handler/table_transport.h"
#include "plugin/server/dictionary_tables.h"
#include "plugin/server/error_map.h"
#include "plugin/server/instance.h"
#include "plugin/server/thd_context.h"

namespace rowan {
namespace {

/// Unsupported features that a partition asks for.
Refusal UnsupportedInPartition(const partition_element& element) {
  if (element.index_file_name != nullptr && RefusesOptions()) {
    return {"INDEX DIRECTORY", "INDEX DIRECTORY: a partition's indexes are in its file"};
  }
  const char* const tablespace = element.tablespace_name;
  if (tablespace != nullptr && *tablespace != 0 && !IsFilePerTable(tablespace)) {
    return {"TABLESPACE", "TABLESPACE of a partition: each has a file of its own"};
  }
  return {};
}

Status EnterCatalog(THD* thd, Session** session) {
  ThdContext* context = ContextOf(thd);
  const Status status = EnterCatalogChange(thd, context);
  if (status.ok()) *session = context->session.get();
  return status;
}

Status DropOne(Session* session, const dd::Partition& leaf, const char* name) {
  const Status status = g_engine->DropTable(session, TableId(leaf.se_private_id()));
  if (!status.Is(Code::kNotFound)) return status;
  // The dictionary's row must still be removed, or the table could never be dropped.
  LogWarning("Partition '{}' of table '{}' is dropped although the Rowan catalog does not have it.",
             leaf.name().c_str(), name);
  return Status::Ok();
}

/// For a partition that is recreated from `definition`, in its present place.
Status DropFormer(Session* session, const dd::Partition& leaf, const char* name,
                  TableDef* definition) {
  const Status status = KeepDirectory(TableId(leaf.se_private_id()), definition);
  if (!status.ok()) return status;
  return DropOne(session, leaf, name);
}

}  // namespace

Refusal ha_rowan_part::UnsupportedInPartitions(const partition_info& info) {
  List_iterator_fast<partition_element> partitions(
      const_cast<List<partition_element>&>(info.partitions));
  for (const partition_element* part = partitions++; part != nullptr; part = partitions++) {
    Refusal refusal = UnsupportedInPartition(*part);
    List_iterator_fast<partition_element> subpartitions(
        const_cast<List<partition_element>&>(part->subpartitions));
    const partition_element* subpart = subpartitions++;
    for (; !refusal.refuses() && subpart != nullptr; subpart = subpartitions++) {
      refusal = UnsupportedInPartition(*subpart);
    }
    if (refusal.refuses()) return refusal;
  }
  return {};
}

int ha_rowan_part::PlacePartition(THD* thd, const std::string& of_table, dd::Partition* leaf,
                                  TableDef* definition) {
  NoteIndexDirectory(thd, *leaf);
  std::string wanted = DirectoryOf(*leaf);
  if (wanted.empty() && !of_table.empty()) {
    // The dictionary does not keep that of a partitioned table.
    wanted = of_table.size() > 1 ? of_table.substr(0, of_table.rfind('/')) : of_table;
    SetDirectory(wanted, leaf);
  }
  return ChooseDirectory(thd, wanted, &definition->directory);
}

Result<std::shared_ptr<Table>> ha_rowan_part::CreatePartition(Session* session, TableDef definition,
                                                              uint64_t auto_increment,
                                                              dd::Partition* leaf) {
  definition.name = PartitionTableName(definition.name, *leaf);
  Result<std::shared_ptr<Table>> created =
      g_engine->CreateTable(session, std::move(definition), auto_increment);
  if (created.ok()) leaf->set_se_private_id((*created)->id().value());
  return created;
}

int ha_rowan_part::create(const char* name, TABLE* form, HA_CREATE_INFO* create_info,
                          dd::Table* table_def) {
  THD* thd = ha_thd();
  const Refusal refusal = UnsupportedInPartitions(*form->part_info);
  if (refusal.refuses()) return Refuse(thd, refusal);
  TableDef definition;
  const int refused = DescribeNewTable(thd, form, *create_info, CatalogName(name), &definition);
  if (refused != 0) return refused;
  const uint64_t auto_increment = FirstAutoIncrement(thd, *create_info);
  const std::string of_table = DirectoryOf(*create_info);
  Session* session = nullptr;
  Status status = EnterCatalog(thd, &session);
  if (!status.ok()) return HandlerError(thd, status);
  for (dd::Partition* leaf : *table_def->leaf_partitions()) {
    if (IsDiscarded(leaf->se_private_data()))
      return RefuseDiscarded(form->s->table_name.str);     // TRUNCATE
    if (leaf->se_private_id() != dd::INVALID_OBJECT_ID) {  // the same
      status = DropFormer(session, *leaf, name, &definition);
      if (!status.ok()) return HandlerError(thd, status);
    } else if (const int misplaced = PlacePartition(thd, of_table, leaf, &definition)) {
      return misplaced;
    }
    status = CreatePartition(session, definition, auto_increment, leaf).status();
    if (!status.ok()) return FailCreate(thd, definition.directory, status);
  }
  return 0;
}

int ha_rowan_part::delete_table(const char* name, const dd::Table* table_def) {
  THD* thd = ha_thd();
  Session* session = nullptr;
  Status status = EnterCatalog(thd, &session);
  for (const dd::Partition* leaf : table_def->leaf_partitions()) {
    if (!status.ok()) break;
    RemoveExportsOf(PartitionTableName(name, *leaf).c_str());
    status = DropOne(session, *leaf, name);
  }
  return HandlerError(thd, status);
}

int ha_rowan_part::rename_table(const char*, const char* to, const dd::Table* from_def,
                                dd::Table* to_def) {
  THD* thd = ha_thd();
  Session* session = nullptr;
  Status status = EnterCatalog(thd, &session);
  for (const dd::Partition* leaf : from_def->leaf_partitions()) {
    if (!status.ok()) break;
    status = g_engine->RenameTable(session, TableId(leaf->se_private_id()),
                                   PartitionTableName(CatalogName(to), *leaf));
  }
  if (status.ok()) to_def->se_private_data().set(kChangedByProperty, session->txn_number());
  return status.Is(Code::kNotFound) ? HA_ERR_NO_SUCH_TABLE : HandlerError(thd, status);
}

// --- single partitions ---

int ha_rowan_part::truncate_partition_low(dd::Table* table_def) {
  THD* thd = ha_thd();
  HA_CREATE_INFO info;
  TableDef definition;
  const std::string name = CatalogName(table_share->normalized_path.str);
  const int refused = DescribeNewTable(thd, table, info, name, &definition);
  if (refused != 0) return refused;
  Session* session = nullptr;
  Status status = EnterCatalog(thd, &session);
  uint number = 0;
  for (dd::Partition* leaf : *table_def->leaf_partitions()) {
    if (!status.ok()) break;
    const uint part = number++;
    if (!m_part_info->is_partition_used(part)) continue;
    // The path, as in InnoDB's message.
    if (IsDiscarded(leaf->se_private_data())) {
      return RefuseDiscarded(table_share->normalized_path.str);
    }
    // The counter stays: values are not reused.
    const uint64_t auto_increment = partitions_->AutoIncrement();
    status = DropFormer(session, *leaf, name.c_str(), &definition);
    if (status.ok()) {
      status = CreatePartition(session, definition, auto_increment, leaf).status();
    }
  }
  return HandlerError(thd, status);
}

int ha_rowan_part::discard_or_import_tablespace(bool discard, dd::Table* table_def) {
  uint number = 0;
  for (dd::Partition* leaf : *table_def->leaf_partitions()) {
    const uint part = number++;
    if (!m_part_info->is_partition_used(part)) continue;
    uint64_t id = 0;
    TableTransport transport(table, partitions_->part(part));
    const int error = transport.DiscardOrImport(discard, &leaf->se_private_data(), &id);
    if (error != 0) return error;
    leaf->set_se_private_id(id);
  }
  return 0;
}

int ha_rowan_part::ExportPartitions() {
  for (const TablePart& part : parts_) {
    const int error = TableTransport(table, part.share()).Export(&exported_files_);
    if (error != 0) return error;
  }
  return 0;
}

int ha_rowan_part::exchange_partition_low(uint part, dd::Table* part_table_def,
                                          dd::Table* swap_table_def) {
  THD* thd = ha_thd();
  const TableShare& former_share = *partitions_->part(part);
  dd::Partition* leaf = nullptr;
  for (dd::Partition* candidate : *part_table_def->leaf_partitions()) {
    if (part-- == 0) leaf = candidate;
  }
  if (leaf == nullptr) return HA_ERR_INTERNAL_ERROR;
  if (IsDiscarded(leaf->se_private_data()) || IsDiscarded(swap_table_def->se_private_data())) {
    return RefuseDiscarded(table_share->table_name.str);
  }
  if (!former_share.lost().ok()) return RefuseUnreadable(former_share, *table_share);
  const TableId inside(leaf->se_private_id());
  const TableId outside(swap_table_def->se_private_id());
  // Opened here, so a table that cannot be a partition is refused before it becomes one.
  Result<std::unique_ptr<TableShare>> fits = OpenShare(table, outside);
  if (!fits.ok()) {
    if (!fits.status().Is(Code::kTableChanged)) return HandlerError(thd, fits.status());
    my_error(ER_TABLES_DIFFERENT_METADATA, MYF(0));
    return HA_ERR_TABLE_DEF_CHANGED;
  }
  Result<std::shared_ptr<Table>> former = g_engine->OpenTable(inside);
  if (!former.ok()) return HandlerError(thd, former.status());
  const std::string inside_name = (*former)->definition().name;
  const std::string outside_name = (*fits)->table()->definition().name;
  Session* session = nullptr;
  Status status = EnterCatalog(thd, &session);
  if (!status.ok()) return HandlerError(thd, status);
  status = g_engine->RenameTable(session, inside, outside_name);
  if (!status.ok()) return HandlerError(thd, status);
  status = g_engine->RenameTable(session, outside, inside_name);
  if (!status.ok()) return HandlerError(thd, status);
  Result<std::string> directory = g_engine->DirectoryOf(outside);
  if (!directory.ok()) return HandlerError(thd, directory.status());
  SetDirectory(*directory, leaf);
  leaf->set_se_private_id(outside.value());
  swap_table_def->set_se_private_id(inside.value());
  return 0;
}

}  // namespace rowan
