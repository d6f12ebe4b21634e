// SPDX-License-Identifier: GPL-2.0-only
// A tablespace's part of a branch: its file is cloned in place of being read, so it takes as long
// as the file system needs to note which blocks the two share.
//
// No page of the clone is torn, whatever the doublewrite mode and the file system: writes of pages
// stand still meanwhile, none is half done (BufferPool::WithoutWrites). Recovery of the clone needs
// no doublewrite file, then. Its pages are not looked at: damage is cloned, too.
// Thread safety: concurrently with all other work of the instance.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/ids.h"
#include "base/status.h"
#include "storage/storage.h"

namespace rowan {

/// As CloneFile (io/clone_file.h).
using CloneFunction = std::function<Status(const std::string& source, const std::string& target)>;

/// Puts the clone of a space into `folder` and makes it durable; returns its number of pages.
/// kUnsupported: it cannot be cloned. If it fails, the folder may have a part of the file.
Result<uint32_t> CloneSpace(Storage* storage, SpaceId space, const std::string& folder,
                            const CloneFunction& clone);

}  // namespace rowan
