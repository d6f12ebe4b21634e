// SPDX-License-Identifier: GPL-2.0-only
// Waits for files as performance_schema has them: wait/io/file/rowan/... by what the file is for,
// and each file by its path. Thread safety: all functions.
#pragma once

#include "base/instruments.h"

namespace rowan {

void RegisterFileInstruments();
/// Sets the members that are about files.
void AddFileInstruments(Instruments* instruments);

}  // namespace rowan
