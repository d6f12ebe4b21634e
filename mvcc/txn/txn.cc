// SPDX-License-Identifier: GPL-2.0-only
#include "mvcc/txn/txn.h"

#include "mvcc/txn/snapshot_registry.h"

namespace rowan {

Txn::~Txn() {
  if (snapshot_registry != nullptr) snapshot_registry->ReleaseSlot(snapshot_slot);
}

}  // namespace rowan
