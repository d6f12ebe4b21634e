// SPDX-License-Identifier: GPL-2.0-only
// ExtensionApplier: how rollback and purge handle undo records of engine/. Thread safety: all
// members.
#pragma once

#include "base/bytes.h"
#include "base/status.h"
#include "base/work_budget.h"

namespace rowan {

/// Engine's part: files and indexes created or dropped by DDL.
class ExtensionApplier {
 public:
  virtual ~ExtensionApplier() = default;
  /// Must be idempotent: a crash may repeat it before the record is dropped. The budget as in
  /// UndoApplier::Undo.
  virtual Status UndoExtension(Bytes payload, WorkBudget* budget) = 0;
  virtual Status PurgeExtension(Bytes payload, WorkBudget* budget) = 0;
};

}  // namespace rowan
