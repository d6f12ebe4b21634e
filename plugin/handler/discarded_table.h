// SPDX-License-Identifier: GPL-2.0-only
// Tables and partitions that were discarded and are to be imported (docs/export.md): the server's
// dictionary has the note. Thread safety: the thread that uses the table.
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
/// Once it is imported its counter is known again.
void SetDiscarded(bool discarded, dd::Properties* properties);

/// It was discarded when its file was lost: what values of AUTO_INCREMENT it had is not known, and
/// the file may yet be imported.
bool IsCounterLost(const dd::Properties& properties);
void SetCounterLost(dd::Properties* properties);

/// Whether the statement may open and lock a discarded table: it reads no rows, or refuses to where
/// it would (as an ALTER TABLE that copies does).
bool MayUseDiscarded(const THD* thd);

/// Names the partition, too, of which the engine table is.
std::string NameForUsers(const TABLE_SHARE& table, const Table& engine_table);

/// Raises the error, which names the table; the handler error.
int RefuseDiscarded(const char* table);

/// The same of a table or partition that is discarded, or whose file is lost or damaged.
int RefuseUnreadable(const TableShare& share, const TABLE_SHARE& table);

/// 0, or the handler error of a table that is dropped or damaged.
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
