// SPDX-License-Identifier: GPL-2.0-only
// CheckNode: every invariant of one node that its page alone can show. Never crashes, whatever the
// bytes.
// Thread safety: the page is held.
#pragma once

#include "base/bytes.h"

namespace rowan {

/// nullptr if the node is sound, otherwise what is wrong (static text).
const char* CheckNode(Bytes page);

}  // namespace rowan
