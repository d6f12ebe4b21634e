// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/program/variable_column.h"

#include "plugin/codec/stored_values.h"

namespace rowan {
namespace {

class VariableColumn final : public ValueNode {
 public:
  VariableColumn(const ValueType& type, const ColumnPlace& place)
      : ValueNode(type), place_(place) {}

  void Compute(Batch* batch, Selection* rows, ValueVector* values) const override {
    const RowShape& shape = batch->plan().layout().shape;
    const Bytes* const stored = batch->stored().values;
    auto* const target = values->As<Bytes>();
    uint8_t* const nulls = values->nulls();
    bool has_nulls = values->has_nulls();
    rows->Retain([&](RowNumber row) {
      const bool is_null = place_.null_bit.IsSet(stored[row]);
      nulls[row] = is_null;
      has_nulls = has_nulls || is_null;
      target[row] = {};
      if (is_null || Find(shape, stored[row], &target[row])) [[likely]]
        return true;
      batch->PutAside(row);
      return false;
    });
    values->set_has_nulls(has_nulls);
  }

 private:
  bool Find(const RowShape& shape, Bytes row, Bytes* value) const {
    VariableReader reader(shape, row);
    for (const ColumnPlace::NullBit& other : place_.before) {
      if (!other.IsSet(row) && !Next(&reader, value)) return false;
    }
    return Next(&reader, value);
  }
  static bool Next(VariableReader* reader, Bytes* value) {
    if (reader->TryNextShort(value)) [[likely]]
      return true;
    VariableReader::Place place;
    return reader->Next(value, &place) && place == VariableReader::Place::kInRow;
  }

  const ColumnPlace place_;
};

}  // namespace

std::unique_ptr<ValueNode> MakeVariableColumn(const ValueType& type, const ColumnPlace& place) {
  return std::make_unique<VariableColumn>(type, place);
}

}  // namespace rowan
