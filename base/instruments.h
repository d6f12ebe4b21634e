// SPDX-License-Identifier: GPL-2.0-only
// Instruments: who is told of threads that come and go. An embedder's own monitoring is set once
// and learns of everything from then on; without one each place costs a predictable branch.
// Thread safety: all functions.
#pragma once

namespace rowan {

struct Instruments {
  /// Called by a background thread at its begin and at its end. `name` as in ThreadLoop.
  void (*thread_begins)(const char* name) = nullptr;
  void (*thread_ends)() = nullptr;
};

/// Null: nobody is told. `instruments` lives until nothing of the engine runs any more. REQUIRES:
/// nothing of the engine runs now.
void SetInstruments(const Instruments* instruments);
/// Null: nobody is to be told.
const Instruments* CurrentInstruments();

}  // namespace rowan
