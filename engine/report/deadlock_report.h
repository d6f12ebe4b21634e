// SPDX-License-Identifier: GPL-2.0-only
// The deadlock found last, for SHOW ENGINE ROWAN STATUS. Thread safety: pure functions.
#pragma once

#include <string>

#include "engine/catalog/catalog.h"
#include "mvcc/lock/deadlock.h"

namespace rowan {

/// Which session waited for what, which one held it, which was rolled back; indexes by name where
/// the catalog knows them.
std::string DescribeDeadlock(const Deadlock& deadlock, const Catalog& catalog);

}  // namespace rowan
