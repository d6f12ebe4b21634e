// SPDX-License-Identifier: GPL-2.0-only
// DATA DIRECTORY of tables and partitions: what users may name, and how it is handed on. The engine
// keeps the place (TableDef::directory); of partitions the server's dictionary has it too.
// Thread safety: the session's thread.
#pragma once

#include <string>

#include "base/status.h"
#include "engine/catalog/table_def.h"

struct HA_CREATE_INFO;
class THD;
namespace dd {
class Partition;
}

namespace rowan {

/// Of a table: without its name, which the server appends. Empty: none.
std::string DirectoryOf(const HA_CREATE_INFO& info);
/// Of a partition that rows are in, or of the one that it is a part of. Empty: none.
std::string DirectoryOf(const dd::Partition& leaf);
/// The dictionary's record of it; empty: none.
void SetDirectory(const std::string& directory, dd::Partition* leaf);

/// innodb_strict_mode, which also decides for other engines' tables whether unavailable options are
/// refused.
bool RefusesOptions();
/// `wanted` has to be under a directory of innodb_directories, whether or not it exists; the server
/// has asked for the FILE privilege. Returns 0 and the directory to use, without links, or raises
/// the error and returns the handler's. Without strict mode a bad one is ignored with a warning.
int ChooseDirectory(THD* thd, const std::string& wanted, std::string* directory);

/// Warns of an INDEX DIRECTORY, which is ignored where it is not refused.
void NoteIndexDirectory(THD* thd, const dd::Partition& leaf);

/// `definition`, of a new table, is to lie where `table` does now. Fails while the disk of that is
/// away: no folder must be made in its place.
Status KeepDirectory(TableId table, TableDef* definition);

/// Raises what kept the file of a new table from being made where the user wanted it; nothing for
/// other failures. Returns the handler's error.
int FailCreate(THD* thd, const std::string& directory, Status status);

}  // namespace rowan
