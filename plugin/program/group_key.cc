// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/program/group_key.h"

#include "mysql/strings/m_ctype.h"
#include "plugin/program/weight_table.h"

namespace rowan {
namespace {

template <typename Number>
void AppendNumber(Number number, std::vector<std::byte>* key) {
  const size_t at = key->size();
  key->resize(at + sizeof(number));
  std::memcpy(key->data() + at, &number, sizeof(number));
}

void AppendText(Bytes text, const WeightTable* weights, std::vector<std::byte>* key) {
  const size_t at = key->size();
  AppendNumber<uint32_t>(0, key);
  if (weights == nullptr) {
    key->insert(key->end(), text.begin(), text.end());
  } else {
    weights->Append(text, key);
  }
  StoreLe<uint32_t>(key->data() + at, static_cast<uint32_t>(key->size() - at - sizeof(uint32_t)));
}

size_t BytesOf(const ValueType& type) {
  return (type.nullable ? 1 : 0) + (type.kind == ValueKind::kWideDecimal ? sizeof(Wide) : 8);
}

}  // namespace

GroupKey::GroupKey(const BatchPlan& plan, const std::vector<ValueId>& values) {
  bool is_fixed = true;
  for (const ValueId value : values) {
    Part& part = parts_.emplace_back();
    part.value = value;
    part.type = plan.TypeOf(value);
    const bool is_text = part.type.kind == ValueKind::kBytes;
    if (is_text && part.type.charset != &my_charset_bin) {
      part.weights = WeightTable::Of(part.type.charset);
    }
    is_fixed = is_fixed && !is_text && !part.type.nullable;
    fixed_bytes_ += BytesOf(part.type);
  }
  if (!is_fixed) fixed_bytes_ = 0;
}

GroupKey::~GroupKey() = default;

void GroupKey::Read(Batch* batch, Selection* rows) {
  for (Part& part : parts_) part.values = &batch->Read(part.value, rows);
}

void GroupKey::Append(RowNumber row, std::vector<std::byte>* key) const {
  for (const Part& part : parts_) {
    const ValueVector& values = *part.values;
    if (part.type.nullable) {
      const bool is_null = values.has_nulls() && values.nulls()[row] != 0;
      key->push_back(is_null ? std::byte{0} : std::byte{1});
      if (is_null) continue;
    }
    switch (part.type.kind) {
      case ValueKind::kBytes: AppendText(values.As<Bytes>()[row], part.weights, key); break;
      case ValueKind::kWideDecimal: AppendNumber(values.As<Wide>()[row], key); break;
      case ValueKind::kDouble: {
        const double real = values.As<double>()[row];
        AppendNumber(real == 0 ? 0.0 : real, key);
        break;
      }
      default: AppendNumber(values.As<uint64_t>()[row], key);
    }
  }
}

}  // namespace rowan
