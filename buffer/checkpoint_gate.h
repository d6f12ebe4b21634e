// SPDX-License-Identifier: GPL-2.0-only
// CheckpointGate: what a layer above the pool has in the log beside changes of pages, and must have
// elsewhere before a checkpoint passes it.
// Thread safety: called by one thread at a time, the one that publishes a checkpoint.
#pragma once

#include "base/status.h"
#include "wal/control_data.h"

namespace rowan {

class CheckpointGate {
 public:
  virtual ~CheckpointGate() = default;
  /// A checkpoint below the log's tail of now is about to be published. kBusy: not yet. Another
  /// failure has stopped the engine.
  virtual Status BeforeCheckpoint() = 0;
  /// The control file gets the checkpoint; what this changes in it becomes durable with it.
  virtual void AtCheckpoint(ControlData* data) = 0;
};

}  // namespace rowan
