// SPDX-License-Identifier: GPL-2.0-only
// The ranges of an index that a condition asks for, where the statement's plan reads the index in
// another way, or another index: many rows are cheaper to scan than to look up, and cheaper still
// not to read at all.
// Thread safety: only the thread that optimises the statement.
#pragma once

#include "my_base.h"

struct AccessPath;
class Item;
class THD;
struct TABLE;

namespace rowan {

/// What the server's range optimizer makes of it: an INDEX_RANGE_SCAN that lives as long as the
/// statement. Null: there are no such ranges. The statement's plan is not changed.
AccessPath* RangesOfCondition(THD* thd, TABLE* table, uint key, Item* condition);

}  // namespace rowan
