// SPDX-License-Identifier: GPL-2.0-only
// The kind of the server's current statement, for the read meter, and its session's meter.
// Thread safety: the session's own thread.
#pragma once

#include "engine/read_meter.h"

class THD;

namespace rowan {

[[nodiscard]] StatementKind KindOfStatement(THD* thd);

}  // namespace rowan
