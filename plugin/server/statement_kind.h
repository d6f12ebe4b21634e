// SPDX-License-Identifier: GPL-2.0-only
// What the server's current statement is, for the read meter, and where its session's meter is.
// Thread safety: the session's own thread.
#pragma once

#include "engine/read_meter.h"

class THD;

namespace rowan {

[[nodiscard]] StatementKind KindOfStatement(THD* thd);

}  // namespace rowan
