// SPDX-License-Identifier: GPL-2.0-only
// To the server, the INFORMATION_SCHEMA tables of this library are plugins of their own; to users
// they are part of the engine. So they come and go with it: INSTALL PLUGIN rowan installs those
// that are missing, UNINSTALL PLUGIN rowan removes them, and the first start after an upgrade of
// the library adds new ones. A failure is a warning in the error log that names the statement to
// run by hand; the engine works without them.
#pragma once

namespace rowan {

/// REQUIRES: called by the initialisation of the engine's plugin within INSTALL PLUGIN.
void InstallSchemaPlugins();
/// Call at the end of a server start, when no INSTALL PLUGIN runs: adds what is missing if the
/// server loads the engine's plugin at each start.
void InstallNewSchemaPlugins();
/// REQUIRES: called by the engine's check within UNINSTALL PLUGIN.
void UninstallSchemaPlugins();

}  // namespace rowan
