// SPDX-License-Identifier: GPL-2.0-only
// What must be true of an engine once the faults that it met are gone. Thread safety: no session
// is alive but idle ones.
#pragma once

#include "base/status.h"

namespace rowan {

class Engine;

/// Waits until what had failed is through and makes a checkpoint, which is returned. Then nothing
/// is left of any transaction, no row is locked, and purge is at its end; what is not so is a test
/// failure, unless the engine has stopped.
Status AwaitHealed(Engine* engine);

}  // namespace rowan
