// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/blocks/incomplete_dates.h"

namespace rowan {
namespace {

bool IsIncomplete(ValueKind kind, int64_t number) {
  if (kind == ValueKind::kDate) return (number & 31) == 0 || (number >> 5 & 15) == 0;
  const int64_t days = number >> 41;
  return (days & 31) == 0 || (days >> 5) % 13 == 0;
}

}  // namespace

void PutIncompleteDatesAside(ValueKind kind, const ValueVector& values, Batch* batch,
                             Selection* rows) {
  if (kind != ValueKind::kDate && kind != ValueKind::kDatetime) return;
  const auto* const numbers = values.As<int64_t>();
  rows->Retain([&](RowNumber row) {
    if (values.nulls()[row] != 0 || !IsIncomplete(kind, numbers[row])) [[likely]]
      return true;
    batch->PutAside(row);
    return false;
  });
}

}  // namespace rowan
