// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/program/fixed_column.h"

#include <array>
#include <utility>

namespace rowan {

const std::byte* ImageInKey(const IndexLayout& index, uint32_t part, Bytes key, bool* malformed) {
  for (uint32_t i = 0; i < part; ++i) {
    const size_t size = index.parts[i].Size(key);
    *malformed = size == 0;
    if (*malformed) return nullptr;
    key = key.subspan(size);
  }
  const KeyPartCodec& found = index.parts[part];
  *malformed = found.Size(key) == 0;
  if (*malformed || found.IsNull(key)) return nullptr;
  return key.data() + (found.nullable ? 1 : 0);
}

void ReadNullBits(const ColumnPlace::NullBit& bit, const Batch& batch, const Selection& rows,
                  ValueVector* values) {
  const Bytes* const stored = batch.stored().values;
  uint8_t* const nulls = values->nulls();
  uint8_t any = values->has_nulls() ? 1 : 0;
  for (const RowNumber row : rows) {
    const uint8_t is_null = bit.IsSet(stored[row]) ? 1 : 0;
    nulls[row] = is_null;
    any |= is_null;
  }
  values->set_has_nulls(any != 0);
}

namespace {

constexpr uint32_t kDigits = 9;
/// Bytes of an incomplete digit with so many decimal digits.
constexpr uint32_t kBytesOfDigits[kDigits] = {0, 1, 1, 2, 2, 3, 3, 4, 4};
constexpr size_t kBytesMax = 4;

struct DecimalForm {
  ValueType type;
  const ColumnPlace& place;
  const IndexLayout& index;
  uint32_t full = 0;
  uint32_t tail_power = 1;
};

template <unsigned kLead, unsigned kTail>
std::unique_ptr<ValueNode> MakeDecimal(const DecimalForm& form) {
  if (form.type.kind == ValueKind::kDecimal) {
    const DecimalOfImage<int64_t, kLead, kTail> load{form.full, form.tail_power};
    return MakeFixedColumn(form.type, form.place, form.index, load);
  }
  const DecimalOfImage<Wide, kLead, kTail> load{form.full, form.tail_power};
  return MakeFixedColumn(form.type, form.place, form.index, load);
}

using MakeFunction = std::unique_ptr<ValueNode> (*)(const DecimalForm&);

template <size_t... kNumbers>
constexpr std::array<MakeFunction, sizeof...(kNumbers)> MakeFunctions(
    std::index_sequence<kNumbers...>) {
  return {&MakeDecimal<kNumbers / (kBytesMax + 1), kNumbers % (kBytesMax + 1)>...};
}

}  // namespace

std::unique_ptr<ValueNode> MakeDecimalColumn(ValueType type, const ColumnPlace& place,
                                             const IndexLayout& index) {
  if (type.precision > kWideDigits) return nullptr;
  type.kind = type.precision <= kDecimalDigits ? ValueKind::kDecimal : ValueKind::kWideDecimal;
  const uint32_t whole = type.precision - type.scale;
  DecimalForm form{type, place, index};
  form.full = whole / kDigits + type.scale / kDigits;
  form.tail_power = static_cast<uint32_t>(kPowersOf10[type.scale % kDigits]);
  static constexpr auto kMake =
      MakeFunctions(std::make_index_sequence<(kBytesMax + 1) * (kBytesMax + 1)>());
  const uint32_t lead = kBytesOfDigits[whole % kDigits];
  const uint32_t tail = kBytesOfDigits[type.scale % kDigits];
  return kMake[lead * (kBytesMax + 1) + tail](form);
}

}  // namespace rowan
