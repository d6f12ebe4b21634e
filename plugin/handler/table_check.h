// SPDX-License-Identifier: GPL-2.0-only
// ANALYZE and CHECK TABLE of one engine table. What is wrong becomes a warning of the
// statement. Thread safety: the handler's.
#pragma once

#include "plugin/handler/table_part.h"

class THD;

namespace rowan {

// Each returns a code for the server's administration, HA_ADMIN_OK and the like.
int AnalyzeTable(THD* thd, TablePart* part);
/// Leaves the reader attached to the session, with a mode of its own.
int CheckTable(THD* thd, TablePart* part, Session* session);

}  // namespace rowan
