// SPDX-License-Identifier: GPL-2.0-only
// Dates without a month or a day. Storing one may have a warning, which the server gives for each
// row: a row that has one is left to it. Thread safety: that of the batch.
#pragma once

#include "plugin/program/batch.h"

namespace rowan {

/// Of values read of `*rows`; does nothing to those of other kinds.
void PutIncompleteDatesAside(ValueKind kind, const ValueVector& values, Batch* batch,
                             Selection* rows);

}  // namespace rowan
