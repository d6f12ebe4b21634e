// SPDX-License-Identifier: GPL-2.0-only
// The server's CLONE copies InnoDB's files and nothing else: a clone of a server with Rowan tables
// would list them in its dictionary but not have them, so it is refused.
//
// The clone plugin asks every engine's own hooks only for a local clone; the donor of a remote one
// asks InnoDB alone. The guard therefore wraps InnoDB's hooks: it checks when a clone begins and
// again after the files have been copied, for tables created in between.
// Thread safety: installed and removed by plugin initialisation and deinitialisation.
#pragma once

namespace rowan {

void PutUpCloneGuard();
void TakeAwayCloneGuard();
/// True while a clone runs through the guard, whose code must then stay loaded.
bool CloneIsRunning();

}  // namespace rowan
