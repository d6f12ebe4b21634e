// SPDX-License-Identifier: GPL-2.0-only
// Waiting until no old version is left. Thread safety: the engine's.
#pragma once

#include <thread>

#include "engine/engine.h"

namespace rowan {

/// Until then nobody can tell lost pages, or shared ones, from those that purge is to free.
inline void AwaitPurge(const Engine& engine) {
  while (engine.Figures().purge.history_length != 0) std::this_thread::yield();
}

}  // namespace rowan
