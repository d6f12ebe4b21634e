// SPDX-License-Identifier: GPL-2.0-only
// The server's transaction coordinator as an engine that is installed at run time finds it.
#pragma once

namespace rowan {

/// Rowan is being installed into a running server (INSTALL PLUGIN).
bool InstalledAtRunTime();

/// Without a binary log the server chooses its coordinator when it starts: with one transactional
/// engine one that logs nothing. When Rowan is installed later, a statement that changes both
/// engines (every DDL statement does) would be prepared in both and its outcome logged nowhere; a
/// crash in between, and the server refuses to start. So INSTALL PLUGIN makes the server take the
/// coordinator that it would have taken at a start with Rowan. False (logged) if that fails.
/// REQUIRES: called while the engine is initialised, at run time.
bool EnsureLoggingCoordinator();

}  // namespace rowan
