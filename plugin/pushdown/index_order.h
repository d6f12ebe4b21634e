// SPDX-License-Identifier: GPL-2.0-only
// A sort in place of an index scan's own order, for when a scan of fewer rows by another index
// replaces one that the plan chose for its order.
// Thread safety: only the thread that optimises the statement.
#pragma once

struct AccessPath;
class JOIN;

namespace rowan {

/// Makes the index scan at `path` a sort of its rows in that index's order, as far as the statement
/// reads the columns. Returns the scan below it, whose order is no longer needed; null: no memory,
/// or the columns cannot produce the order; nothing was changed.
AccessPath* SortInIndexOrder(JOIN* join, AccessPath* path);

}  // namespace rowan
