// SPDX-License-Identifier: GPL-2.0-only
// What a change of a table's definition means for its stored bytes. Types are not compared here:
// two of them can have the same form, as DECIMAL and TIME may, so the caller ensures that values
// keep their meaning. Thread safety: pure functions.
#pragma once

#include "plugin/codec/table_layout.h"

namespace rowan {

/// Whether rows and clustered keys written under `before` read the same under `after`, provided
/// that it inherits their history. Columns may come and go, `former` has for each of `after` the
/// one that it was; those that stay do not change places. Strings may become longer, and the
/// character set of one may become another that has the same bytes.
[[nodiscard]] bool RowsStay(const TableLayout& before, const ColumnMap& former,
                            const TableLayout& after);
/// The same for the entries of an index. REQUIRES: RowsStay.
[[nodiscard]] bool EntriesStay(const IndexLayout& before, const ColumnMap& former,
                               const IndexLayout& after);

}  // namespace rowan
