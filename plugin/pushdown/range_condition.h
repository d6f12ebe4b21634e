// SPDX-License-Identifier: GPL-2.0-only
// Which conditions need not be asked for every row of a range of an index: those that, true for two
// rows, are true for all rows between them. That is a matter of their form: comparisons of key
// parts with constants, in the order that the index has. Everything else is left to the server.
// Thread safety: one thread, the one that optimises the statement.
#pragma once

class Item;
class KEY;

namespace rowan {

/// `equal_parts` of the key have the same value all over the range. True for a null condition.
bool HoldsBetween(Item* condition, const KEY& key, unsigned equal_parts);

}  // namespace rowan
