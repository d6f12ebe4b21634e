// SPDX-License-Identifier: GPL-2.0-only
// Which conditions need not be evaluated for every row of an index range: those that, if true for
// two rows, are true for all rows between them. Their form decides: comparisons of key parts with
// constants, in index order. Everything else is left to the server.
// Thread safety: only the thread that optimises the statement.
#pragma once

class Item;
class KEY;
class QUICK_RANGE;

namespace rowan {

/// The first `equal_parts` parts of the key have the same value throughout the range. True for a
/// null condition.
bool HoldsBetween(Item* condition, const KEY& key, unsigned equal_parts);
/// The same for each of some ranges of the key.
bool HoldsBetween(Item* condition, const KEY& key, QUICK_RANGE* const* ranges, unsigned count);

}  // namespace rowan
