// SPDX-License-Identifier: GPL-2.0-only
// What the server says about an ALTER TABLE: which changes need no copy of the table, and what
// columns and indexes were before. Comparing stored bytes is AlterJob's task. Thread safety: the
// session's thread.
#pragma once

#include "my_inttypes.h"

#include "plugin/codec/table_layout.h"

class Alter_info;
class Alter_inplace_info;
class THD;
struct TABLE;

namespace rowan {

/// None of the changes needs a copy because of its kind.
bool MayDoWithoutCopy(THD* thd, const Alter_inplace_info& info);

/// The changes make a new table from the existing rows.
bool WantsRebuild(const Alter_inplace_info& info);

/// What each column was before. False when one has a new meaning, or gets a value per row.
bool MapColumns(const TABLE& table, const Alter_info& alter, ColumnMap* former);

/// For the error that ALGORITHM=INPLACE, INSTANT or LOCK=NONE gets: 1846 with it, 1845 without.
const char* ReasonForCopy(THD* thd, const Alter_inplace_info& info);

/// The key of the former table that has this name now; MAX_KEY: none.
uint FormerKey(const TABLE& table, const Alter_inplace_info& info, const char* name);

}  // namespace rowan
