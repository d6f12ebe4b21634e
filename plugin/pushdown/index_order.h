// SPDX-License-Identifier: GPL-2.0-only
// A sort in place of an index scan's own order: where a scan of fewer rows by another index takes
// the place of one that the plan has chosen for its order.
// Thread safety: one thread, the one that optimises the statement.
#pragma once

struct AccessPath;
class JOIN;

namespace rowan {

/// Makes the index scan at `path` a sort of its rows in that index's order, as far as the statement
/// reads the columns. Returns the scan below it, whose order is no longer needed; null: no memory,
/// or the columns cannot give the order, and nothing was changed.
AccessPath* SortInIndexOrder(JOIN* join, AccessPath* path);

}  // namespace rowan
