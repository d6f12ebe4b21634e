// SPDX-License-Identifier: GPL-2.0-only
// What performance_schema.log_status shows for Rowan: {"Rowan": {"LSN": n, "LSN_checkpoint": m}} in
// STORAGE_ENGINES. The server keeps its binary log locked during the call and has waited until
// everything written there is committed. So at that LSN Rowan has exactly the transactions up to
// the row's binary log position; anything else prepared was never committed.
#pragma once

struct handlerton;

namespace rowan {

void SetLogStatusHooks(handlerton* hton);

}  // namespace rowan
