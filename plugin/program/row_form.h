// SPDX-License-Identifier: GPL-2.0-only
// Which entries have the form that programs read: rows of the table's present form without a
// shared value, and entries that are as long as they must be. Nearly all have.
#pragma once

#include "plugin/program/batch.h"

namespace rowan {

/// Puts the others aside.
void KeepUsualRows(const BatchPlan& plan, Batch* batch, Selection* rows);

}  // namespace rowan
