// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/program/batch.h"

#include "plugin/program/row_form.h"

namespace rowan {

Batch::Batch(const BatchPlan& plan) : plan_(plan), slots_(plan.value_count()) {}

void Batch::Start(const StoredRows& stored, Selection* rows) {
  stored_ = stored;
  aside_.Clear();
  for (Slot& slot : slots_) slot.touched = slot.complete = false;
  rows->SelectFirst(stored.count);
  KeepUsualRows(plan_, this, rows);
  decided_count_ = rows->size();
}

const ValueVector& Batch::Read(ValueId id, Selection* rows) {
  Slot& slot = slots_[static_cast<uint32_t>(id)];
  if (slot.complete) return slot.values;
  const ValueNode& node = plan_.NodeOf(id);
  if (!slot.touched) {
    slot.touched = true;
    slot.values.ForgetNulls();
    slot.complete = rows->size() == decided_count_;
    node.Compute(this, rows, &slot.values);
    if (!slot.complete) slot.read = rows->AsSet();
    return slot.values;
  }
  Selection missing = *rows;
  missing.Remove(slot.read);
  const uint32_t missing_count = missing.size();
  if (missing_count == 0) return slot.values;
  node.Compute(this, &missing, &slot.values);
  slot.read.AddAll(missing.AsSet());
  if (missing.size() != missing_count) rows->Remove(aside_);
  return slot.values;
}

}  // namespace rowan
