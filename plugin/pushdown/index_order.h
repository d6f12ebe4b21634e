// SPDX-License-Identifier: GPL-2.0-only
// A sort in place of an index scan's own order: where a scan of fewer rows by another index takes
// the place of one that the plan has chosen for its order.
// Thread safety: one thread, the one that optimises the statement.
#pragma once

struct AccessPath;
class JOIN;

namespace rowan {

/// Makes the index scan at `path` a sort of its rows in that index's order, as far as the statement
/// reads the columns. The scan below it, whose order nobody needs any more; null: no memory, or the
/// order cannot be had from the columns, and nothing was changed.
AccessPath* SortInIndexOrder(JOIN* join, AccessPath* path);

}  // namespace rowan
