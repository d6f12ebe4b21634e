// SPDX-License-Identifier: GPL-2.0-only
// Redo of the undo space's log records. Thread safety: once, before the log is read.
#pragma once

namespace rowan {

void RegisterUndoRedo();

}  // namespace rowan
