// SPDX-License-Identifier: GPL-2.0-only
// The Rowan_* status variables: every counter of base/counters.def, and the current state of pool,
// log and undo.
#pragma once

struct SHOW_VAR;

namespace rowan {

/// For the plugin descriptor.
extern SHOW_VAR g_status_variables[];

}  // namespace rowan
