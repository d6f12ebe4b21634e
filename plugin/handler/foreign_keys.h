// SPDX-License-Identifier: GPL-2.0-only
// Foreign keys: the server checks them and carries out their actions through the handler, row by
// row; the engine says which columns may refer to which, and locks what the server reads for it.
// Thread safety: any thread.
#pragma once

#include "sql/handler.h"

#include "base/status.h"

class THD;

namespace rowan {

/// Announces foreign keys to the server.
void SetForeignKeyHooks(handlerton* hton);

/// What is not done about a table's foreign keys for this connection. The server leaves all of it
/// to the engine with innodb_native_foreign_keys=ON; and a replica applies rows as they are.
enum class UncheckedKeys : uint8_t {
  kNone,
  kCascades,  ///< what happens to a parent's row has to happen to its children's, too
  kAll        ///< any change could break a key
};
UncheckedKeys UncheckedForeignKeys(THD* thd, const TABLE_SHARE& share);

/// Whether a change of a row can return, through cascades, to the same table: it is a child whose
/// rows others change, and a parent itself or one whose triggers may change a parent.
bool CascadesMayReturn(const TABLE_SHARE& share);

/// An UPDATE changes what it changes in the row as it is stored now: the columns in which `changed`
/// equals `read`, the row that the server has read, get the values of `stored`, and what is
/// computed from them is computed again. All three are records of `table`; long values of `changed`
/// may point to the memory of `stored`'s then. kUnsupported: a column cannot be computed.
Status KeepStoredValues(TABLE* table, const uchar* read, const uchar* stored, uchar* changed);

/// Refuses a change that would leave keys unchecked; the handler error.
int RefuseUnchecked();

/// Returns `error`, a handler error or 0, having raised in the statement one that the server would
/// ignore.
int RaiseInCascade(const TABLE& table, int error);

/// The server reads an index of a child after counting and before it looks at the count.
void RepairCascadeCount(THD* thd);

}  // namespace rowan
