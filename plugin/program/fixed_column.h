// SPDX-License-Identifier: GPL-2.0-only
// Columns whose image has a fixed length, in the fixed area of a row or in a key -> nodes of a
// plan.
#pragma once

#include <memory>

#include "plugin/program/batch.h"
#include "plugin/program/column_place.h"
#include "plugin/program/decimal_image.h"

namespace rowan {

/// Where the image of a part of a key is, behind parts of any length; null if it is NULL or
/// malformed (`*malformed`).
const std::byte* ImageInKey(const IndexLayout& index, uint32_t part, Bytes key, bool* malformed);

/// Sets the null flags of rows from the null bits that the rows have.
void ReadNullBits(const ColumnPlace::NullBit& bit, const Batch& batch, const Selection& rows,
                  ValueVector* values);

/// BINARY(n).
struct ImageItself {
  using Value = Bytes;
  size_t size = 0;
  Bytes operator()(const std::byte* image) const { return {image, size}; }
};

template <typename Load>
class FixedColumn final : public ValueNode {
 public:
  FixedColumn(const ValueType& type, const ColumnPlace& place, const IndexLayout& index, Load load)
      : ValueNode(type), place_(place), index_(index), load_(load) {}

  void Compute(Batch* batch, Selection* rows, ValueVector* values) const override {
    if (place_.form == ColumnPlace::Form::kPartOfKey) return ComputeFromPart(batch, rows, values);
    const StoredRows& stored = batch->stored();
    const Bytes* const bases = place_.in_key() ? stored.keys : stored.values;
    const size_t offset = place_.offset;
    const Load load = load_;
    auto* const target = values->As<typename Load::Value>();
    for (const RowNumber row : *rows) target[row] = load(bases[row].data() + offset);
    if (place_.nullable) ReadNullBits(place_.null_bit, *batch, *rows, values);
  }

 private:
  void ComputeFromPart(Batch* batch, Selection* rows, ValueVector* values) const {
    auto* const target = values->As<typename Load::Value>();
    uint8_t* const nulls = values->nulls();
    bool has_nulls = values->has_nulls();
    rows->Retain([&](RowNumber row) {
      bool malformed = false;
      const std::byte* const image =
          ImageInKey(index_, place_.part, batch->stored().keys[row], &malformed);
      if (malformed) [[unlikely]] {
        batch->PutAside(row);
        return false;
      }
      nulls[row] = image == nullptr;
      has_nulls = has_nulls || image == nullptr;
      target[row] = image == nullptr ? typename Load::Value() : load_(image);
      return true;
    });
    values->set_has_nulls(has_nulls);
  }

  const ColumnPlace place_;
  const IndexLayout& index_;
  const Load load_;
};

template <typename Load>
std::unique_ptr<ValueNode> MakeFixedColumn(const ValueType& type, const ColumnPlace& place,
                                           const IndexLayout& index, Load load) {
  return std::make_unique<FixedColumn<Load>>(type, place, index, load);
}

/// `type` has precision and scale. Null: it has more digits than a Wide.
std::unique_ptr<ValueNode> MakeDecimalColumn(ValueType type, const ColumnPlace& place,
                                             const IndexLayout& index);

}  // namespace rowan
