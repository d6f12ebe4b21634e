// SPDX-License-Identifier: GPL-2.0-only
// CheckpointGate: what a layer above the pool logs besides page changes, and must store elsewhere
// before a checkpoint passes it.
// Thread safety: called by one thread at a time, the one that publishes a checkpoint.
#pragma once

#include "base/status.h"
#include "wal/control_data.h"

namespace rowan {

class CheckpointGate {
 public:
  virtual ~CheckpointGate() = default;
  /// A checkpoint below the current log tail is about to be published. kBusy: not yet. Any other
  /// failure has stopped the engine.
  virtual Status BeforeCheckpoint() = 0;
  /// The control file gets the checkpoint; changes made here become durable with it.
  virtual void AtCheckpoint(ControlData* data) = 0;
};

}  // namespace rowan
