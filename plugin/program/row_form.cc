// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/program/row_form.h"

#include "plugin/codec/stored_values.h"
#include "plugin/codec/table_layout.h"

namespace rowan {
namespace {

template <typename IsUsual>
void Keep(IsUsual is_usual, Batch* batch, Selection* rows) {
  // In nearly all batches nothing is to be done.
  bool all_usual = true;
  for (const RowNumber row : *rows) all_usual &= is_usual(row);
  if (all_usual) [[likely]]
    return;
  rows->Retain([&](RowNumber row) {
    if (is_usual(row)) [[likely]]
      return true;
    batch->PutAside(row);
    return false;
  });
}

}  // namespace

void KeepUsualRows(const BatchPlan& plan, Batch* batch, Selection* rows) {
  const TableLayout& layout = plan.layout();
  const PlainKey& plain = layout.indexes[plan.index_number()].plain;
  const size_t key_bytes = plain.is_plain() ? plain.bytes() : 0;
  const Bytes* const keys = batch->stored().keys;
  const Bytes* const values = batch->stored().values;
  if (plan.index_number() != 0) {
    Keep([&](RowNumber row) { return keys[row].size() >= key_bytes; }, batch, rows);
    return;
  }
  const size_t row_bytes = BytesBeforeVariable(layout.shape);
  const auto version = static_cast<std::byte>(layout.generation << 1);
  Keep(
      [&](RowNumber row) {
        return values[row].size() >= row_bytes && values[row][0] == version &&
               keys[row].size() >= key_bytes;
      },
      batch, rows);
}

}  // namespace rowan
