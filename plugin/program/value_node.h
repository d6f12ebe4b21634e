// SPDX-License-Identifier: GPL-2.0-only
// ValueNode: how one value of a BatchPlan is computed for some rows of a batch.
// Thread safety: const.
#pragma once

#include "plugin/program/value_vector.h"

namespace rowan {

class Batch;

class ValueNode {
 public:
  explicit ValueNode(const ValueType& type) : type_(type) {}
  virtual ~ValueNode() = default;
  ValueNode(const ValueNode&) = delete;
  ValueNode& operator=(const ValueNode&) = delete;

  [[nodiscard]] const ValueType& type() const { return type_; }
  /// Computes the value for `*rows`; sets `nulls()` of each if the type is nullable. Rows for which
  /// it cannot are put aside (Batch::PutAside) and taken from `*rows`.
  virtual void Compute(Batch* batch, Selection* rows, ValueVector* values) const = 0;

 private:
  const ValueType type_;
};

}  // namespace rowan
