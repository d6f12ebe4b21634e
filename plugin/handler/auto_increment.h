// SPDX-License-Identifier: GPL-2.0-only
// AUTO_INCREMENT: the counter is the engine table's. Values are reserved in blocks; explicit values
// raise the counter. When a table is opened, the counter is raised above the largest value in the
// column's index. rowan_autoinc_lock_mode says which statements hold the counter exclusively until
// they end, as innodb_autoinc_lock_mode does: 0 all, 1 those that do not know how many rows they
// insert, 2 none. Thread safety: the handler's.
#pragma once

#include "plugin/handler/table_part.h"

namespace rowan {

/// For an insert where rowan_autoinc_lock_mode is not "interleaved". Waits.
Status LockAutoIncrement(const TablePart& part, Session* session);

/// Raises the counter above a value stored in the column, `field`.
void RaiseAutoIncrement(const Field& field, uint64_t value, Table* engine_table);
/// The same with the value in a record.
void RaiseAutoIncrement(const TablePart& part, const unsigned char* record);

/// Before the stored row is deleted (`new_record` null) or changes.
Status KeepAutoIncrement(const TablePart& part, const unsigned char* old_record,
                         const unsigned char* new_record);

/// Raises the counter of a table that is being opened above the values in its index.
Status FindAutoIncrement(const TABLE& table, const TableShare& share);

}  // namespace rowan
