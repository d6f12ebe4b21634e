// SPDX-License-Identifier: GPL-2.0-only
// What a change of a table's definition means for its stored bytes. Types are not compared: two may
// have the same form, as DECIMAL and TIME can, so the caller ensures that values keep their
// meaning. Thread safety: pure functions.
#pragma once

#include "plugin/codec/table_layout.h"

namespace rowan {

/// Whether rows and clustered keys written under `before` read the same under `after`, provided
/// that it inherits their history. Columns may be added and dropped; those that stay keep their
/// order. `former` maps each column of `after` to the one that it was. Strings may become longer
/// and may change to a character set with the same bytes.
[[nodiscard]] bool RowsStay(const TableLayout& before, const ColumnMap& former,
                            const TableLayout& after);
/// The same for the entries of an index. REQUIRES: RowsStay.
[[nodiscard]] bool EntriesStay(const IndexLayout& before, const ColumnMap& former,
                               const IndexLayout& after);

}  // namespace rowan
