// SPDX-License-Identifier: GPL-2.0-only
// Tables and partitions that were discarded and are to be imported (docs/export.md): the server's
// dictionary records it. Thread safety: the thread that uses the table.
#pragma once

#include <string>

namespace dd {
class Properties;
}
class THD;
struct TABLE_SHARE;

namespace rowan {

class Table;
class TableShare;

/// `properties`: the private ones of the table or partition.
bool IsDiscarded(const dd::Properties& properties);
/// Importing it makes its counter known again.
void SetDiscarded(bool discarded, dd::Properties* properties);

/// It was discarded while its file was lost: its AUTO_INCREMENT values are unknown, and the file
/// may yet be imported.
bool IsCounterLost(const dd::Properties& properties);
void SetCounterLost(dd::Properties* properties);

/// Whether the statement may open and lock a discarded table: it reads no rows, or refuses to (like
/// an ALTER TABLE that copies).
bool MayUseDiscarded(const THD* thd);

/// Also names the partition that is the engine table.
std::string NameForUsers(const TABLE_SHARE& table, const Table& engine_table);

/// Raises the error, which names the table; returns the handler error.
int RefuseDiscarded(const char* table);

/// The same for a table or partition that is discarded, or whose file is lost or damaged.
int RefuseUnreadable(const TableShare& share, const TABLE_SHARE& table);

/// 0, or the handler error for a dropped or damaged table.
int CheckUsable(const Table& engine_table, bool writes);

/// In place, an ALTER TABLE may change everything but the rows of a discarded table, as which an
/// exported file is to be read. `changes`: Alter_inplace_info's flags.
bool LeavesDiscardedRows(unsigned long long changes);

/// Warns that what is to be discarded already is.
void NoteDiscarded(THD* thd, const char* table);

/// After DISCARD or IMPORT under LOCK TABLES: closes the table, so that the server opens it again
/// with its present engine table. REQUIRES: the statement's transaction has ended, its metadata
/// lock has not.
void CloseTransportedTable(THD* thd);

}  // namespace rowan
