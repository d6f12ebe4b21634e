// SPDX-License-Identifier: GPL-2.0-only
// The server's transaction coordinator as found by an engine installed at run time.
#pragma once

namespace rowan {

/// Rowan is being installed into a running server (INSTALL PLUGIN).
bool InstalledAtRunTime();

/// Without a binary log the server chooses its coordinator when it starts: with only one
/// transactional engine, one that logs nothing. If Rowan is installed later, a statement that
/// changes both engines (as every DDL statement does) would be prepared in both with its outcome
/// logged nowhere; after a crash in between, the server would refuse to start. So INSTALL PLUGIN
/// makes the server switch to the coordinator that it would have chosen when starting with Rowan.
/// False (logged) if that fails. REQUIRES: called while the engine is being initialised at run
/// time.
bool EnsureLoggingCoordinator();

}  // namespace rowan
