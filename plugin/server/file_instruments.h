// SPDX-License-Identifier: GPL-2.0-only
// File waits in performance_schema: wait/io/file/rowan/... by the file's purpose, and each file by
// its path. Thread safety: all functions.
#pragma once

#include "base/instruments.h"

namespace rowan {

void RegisterFileInstruments();
/// Sets the members that concern files.
void AddFileInstruments(Instruments* instruments);

}  // namespace rowan
