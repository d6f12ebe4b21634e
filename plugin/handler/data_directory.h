// SPDX-License-Identifier: GPL-2.0-only
// DATA DIRECTORY of tables and partitions: what users may name, and how it is passed on. The engine
// stores it (TableDef::directory); for partitions the server's dictionary does, too.
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

/// A table's directory, without its name, which the server appends. Empty: none.
std::string DirectoryOf(const HA_CREATE_INFO& info);
/// That of a leaf partition, or of the one that it is a part of. Empty: none.
std::string DirectoryOf(const dd::Partition& leaf);
/// Stores it in the dictionary; empty: none.
void SetDirectory(const std::string& directory, dd::Partition* leaf);

/// innodb_strict_mode, which also decides for other engines' tables whether unavailable options are
/// refused.
bool RefusesOptions();
/// `wanted` must be under a directory of innodb_directories, whether or not it exists; the server
/// has asked for the FILE privilege. Returns 0 and the directory to use, without links, or raises
/// the error and returns the handler's. Without strict mode a bad one is ignored with a warning.
int ChooseDirectory(THD* thd, const std::string& wanted, std::string* directory);

/// Warns of an INDEX DIRECTORY that is ignored because it is not refused.
void NoteIndexDirectory(THD* thd, const dd::Partition& leaf);

/// Places a new table with `definition` where `table` is now. Fails while that disk is missing: no
/// folder must be created in its place.
Status KeepDirectory(TableId table, TableDef* definition);

/// Raises the error that prevented creating a new table's file where the user wanted it; nothing
/// for other failures. Returns the handler's error.
int FailCreate(THD* thd, const std::string& directory, Status status);

}  // namespace rowan
