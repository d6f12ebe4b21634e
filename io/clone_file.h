// SPDX-License-Identifier: GPL-2.0-only
// CloneFile: a copy of a file in an instant, whatever its size: both share their blocks until one
// of them writes there (FICLONE; XFS with reflinks, btrfs).
#pragma once

#include <string>

#include "base/status.h"

namespace rowan {

/// Creates `target`. What is written to the source meanwhile may be in it in part, what was written
/// before is; durable by a sync of the target. kNotFound: there is no source. kUnsupported: the
/// file system cannot, or the two would lie on different ones; there is no target then.
Status CloneFile(const std::string& source, const std::string& target);

}  // namespace rowan
