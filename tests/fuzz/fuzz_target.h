// SPDX-License-Identifier: GPL-2.0-only
// A fuzz target: one parser of bytes that come from disk, and bytes to begin with. A target must
// come back from any bytes whatever; what it answers is no matter here.
// Thread safety: one thread.
#pragma once

#include <span>
#include <vector>

#include "base/bytes.h"

namespace rowan {

using FuzzInput = std::vector<std::byte>;

struct FuzzTarget {
  const char* name;
  /// Bytes that an engine wrote.
  std::vector<FuzzInput> (*samples)();
  void (*run)(Bytes input);
};

/// All of them.
std::span<const FuzzTarget> FuzzTargets();

void FuzzNode(Bytes input);
void FuzzRedo(Bytes input);
void FuzzLogGroup(Bytes input);
void FuzzUndoPage(Bytes input);
void FuzzRowUndo(Bytes input);
void FuzzTableDef(Bytes input);
void FuzzControlFile(Bytes input);
void FuzzLogFileHeader(Bytes input);
void FuzzDoublewrite(Bytes input);
void FuzzPageVersions(Bytes input);

}  // namespace rowan
