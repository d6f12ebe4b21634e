// SPDX-License-Identifier: GPL-2.0-only
// The INFORMATION_SCHEMA tables of this library are plugins of their own to the server; to users
// they are part of the engine. So they come and go with it: INSTALL PLUGIN rowan installs what is
// missing of them, UNINSTALL PLUGIN rowan removes them, and a start after an upgrade of the library
// adds those that are new. Whatever fails is a warning in the error log that names the statement to
// run by hand; the engine works without them.
#pragma once

namespace rowan {

/// REQUIRES: called by the initialisation of the engine's plugin within INSTALL PLUGIN.
void InstallSchemaPlugins();
/// At the end of a start of the server, when no INSTALL PLUGIN runs: adds what is missing if the
/// server is to load the engine's plugin at each start.
void InstallNewSchemaPlugins();
/// REQUIRES: called by the engine's check within UNINSTALL PLUGIN.
void UninstallSchemaPlugins();

}  // namespace rowan
