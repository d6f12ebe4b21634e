// SPDX-License-Identifier: GPL-2.0-only
// ExtensionApplier: what rollback and purge do with undo records of engine/. Thread safety: all
// members.
#pragma once

#include "base/bytes.h"
#include "base/status.h"

namespace rowan {

/// Engine's part: files and indexes created or dropped by DDL.
class ExtensionApplier {
 public:
  virtual ~ExtensionApplier() = default;
  /// Must be idempotent: a crash may repeat it before the record is dropped.
  virtual Status UndoExtension(Bytes payload) = 0;
  virtual Status PurgeExtension(Bytes payload) = 0;
};

}  // namespace rowan
