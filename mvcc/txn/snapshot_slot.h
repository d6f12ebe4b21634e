// SPDX-License-Identifier: GPL-2.0-only
// SnapshotSlot: the place in a SnapshotRegistry that a transaction keeps between its snapshots. It
// is given back when the transaction goes, which must be before the registry does.
// Thread safety: none.
#pragma once

#include <cstdint>

#include "base/assertions.h"
#include "mvcc/txn/snapshot_registry.h"

namespace rowan {

class SnapshotSlot {
 public:
  SnapshotSlot() = default;
  ~SnapshotSlot() {
    if (registry_ != nullptr) registry_->ReleaseSlot(number_);
  }
  SnapshotSlot(const SnapshotSlot&) = delete;
  SnapshotSlot& operator=(const SnapshotSlot&) = delete;

  /// Its number there, from the first call on. REQUIRES: always the same registry.
  [[nodiscard]] uint32_t In(SnapshotRegistry* registry) {
    if (registry_ == nullptr) {
      number_ = registry->AcquireSlot();
      registry_ = registry;
    }
    ROWAN_DCHECK(registry_ == registry);
    return number_;
  }

 private:
  SnapshotRegistry* registry_ = nullptr;
  uint32_t number_ = 0;
};

}  // namespace rowan
