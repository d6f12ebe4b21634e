// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/server/dictionary_tables.h"

#include <algorithm>

#include "sql/current_thd.h"
#include "sql/dd/cache/dictionary_client.h"
#include "sql/dd/dd_schema.h"
#include "sql/dd/properties.h"
#include "sql/dd/types/partition.h"
#include "sql/dd/types/schema.h"
#include "sql/dd/types/table.h"
#include "sql/sql_class.h"

namespace rowan {
namespace {

Status Unreadable() { return Status(Code::kIoError, "the server's dictionary cannot be read"); }

void NoteId(dd::Object_id id, DictionaryTables* found) {
  if (id == dd::INVALID_OBJECT_ID) return;
  found->id_max = std::max<uint64_t>(found->id_max, id);
  found->ids.insert(id);
}

Status AddSchema(THD* thd, const dd::String_type& name, DictionaryTables* found) {
  dd::cache::Dictionary_client* client = thd->dd_client();
  dd::Schema_MDL_locker locker(thd);
  const dd::Schema* schema = nullptr;
  if (locker.ensure_locked(name.c_str()) || client->acquire(name, &schema)) return Unreadable();
  if (schema == nullptr) return Status::Ok();  // dropped in the meantime
  std::vector<dd::String_type> tables;
  if (client->fetch_schema_table_names_by_engine(schema, "ROWAN", &tables)) return Unreadable();
  for (const dd::String_type& table_name : tables) {
    const dd::Table* table = nullptr;
    if (client->acquire(name, table_name, &table)) return Unreadable();
    if (table == nullptr) continue;
    found->names.push_back(std::string(name.c_str()) + "." + table_name.c_str());
    NoteId(table->se_private_id(), found);
    uint64_t changed_by = 0;
    const dd::Properties& properties = table->se_private_data();
    if (properties.exists(kChangedByProperty) && !properties.get(kChangedByProperty, &changed_by)) {
      found->changed_by.insert(changed_by);
    }
    for (const dd::Partition* leaf : table->leaf_partitions()) {
      NoteId(leaf->se_private_id(), found);
    }
  }
  return Status::Ok();
}

}  // namespace

Result<DictionaryTables> TablesInDictionary() {
  DictionaryTables found;
  THD* thd = current_thd;
  if (thd == nullptr) return found;  // only plugin loading runs without one
  const dd::cache::Dictionary_client::Auto_releaser releaser(thd->dd_client());
  std::vector<dd::String_type> schemas;
  if (thd->dd_client()->fetch_global_component_names<dd::Schema>(&schemas)) return Unreadable();
  for (const dd::String_type& name : schemas) {
    const Status status = AddSchema(thd, name, &found);
    if (!status.ok()) return status;
  }
  return found;
}

}  // namespace rowan
