// SPDX-License-Identifier: GPL-2.0-only
// What the server says about an ALTER TABLE: which changes can do without its copy of the table,
// and what columns and indexes were before. What becomes of the stored bytes is AlterJob's to
// compare. Thread safety: the session's thread.
#pragma once

#include "my_inttypes.h"

#include "plugin/codec/table_layout.h"

class Alter_info;
class Alter_inplace_info;
class THD;
struct TABLE;

namespace rowan {

/// None of the changes needs a copy by its kind.
bool MayDoWithoutCopy(THD* thd, const Alter_inplace_info& info);

/// The changes make a new table of the existing rows.
bool WantsRebuild(const Alter_inplace_info& info);

/// What each column was before. False when one means something else now, or has a value for each
/// row.
bool MapColumns(const TABLE& table, const Alter_info& alter, ColumnMap* former);

/// For the error that ALGORITHM=INPLACE, INSTANT or LOCK=NONE gets: 1846 with it, 1845 without.
const char* ReasonForCopy(THD* thd, const Alter_inplace_info& info);

/// The key of the table as it was that has this name now; MAX_KEY: none.
uint FormerKey(const TABLE& table, const Alter_inplace_info& info, const char* name);

}  // namespace rowan
