// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/blocks/sort_values.h"

#include <bit>
#include <limits>
#include <type_traits>

namespace rowan {
namespace {

/// No value has this number: the widest decimals are smaller.
constexpr Wide kNull = std::numeric_limits<Wide>::min();

int64_t OrderOf(double real) {
  const auto bits = std::bit_cast<int64_t>(real == 0 ? 0.0 : real);  // -0 and 0 are equal
  return bits < 0 ? bits ^ std::numeric_limits<int64_t>::max() : bits;
}

template <typename T>
Wide NumberAt(const ValueVector& values, RowNumber row) {
  const T value = values.As<T>()[row];
  if constexpr (std::is_same_v<T, double>) {
    return Wide{OrderOf(value)};
  } else {
    return Wide{value};
  }
}

int CompareNumbers(Wide left, Wide right) { return left < right ? -1 : left > right ? 1 : 0; }

bool IsNull(Wide number) { return number == kNull || number == ~kNull; }

Wide NumberOf(const Constant& value, ValueKind kind) {
  if (value.is_null()) return kNull;
  switch (kind) {
    case ValueKind::kBytes: return 0;
    case ValueKind::kDouble: return Wide{OrderOf(value.real())};
    default: return value.number();
  }
}

}  // namespace

SortValues::SortValues(const BatchPlan& plan, const std::vector<SortKey>& keys) {
  for (const SortKey& key : keys) {
    Part& part = parts_.emplace_back();
    part.value = key.value;
    part.type = plan.TypeOf(key.value);
    part.descending = key.descending;
    if (part.type.kind == ValueKind::kBytes) part.text.emplace(part.type.charset);
    if (key.item != nullptr) {
      part.in_record.emplace(key.item, ConstantForm{part.type.kind, part.type.charset});
    }
  }
}

void SortValues::Read(Batch* batch, Selection* rows) {
  for (Part& part : parts_) part.values = &batch->Read(part.value, rows);
}

Wide SortValues::NumberOf(const Part& part, RowNumber row) {
  Wide number = 0;
  if (part.values->has_nulls() && part.values->nulls()[row] != 0) {
    number = kNull;
  } else {
    switch (part.type.kind) {
      case ValueKind::kBytes: break;
      case ValueKind::kUnsigned: number = NumberAt<uint64_t>(*part.values, row); break;
      case ValueKind::kWideDecimal: number = NumberAt<Wide>(*part.values, row); break;
      case ValueKind::kDouble: number = NumberAt<double>(*part.values, row); break;
      default: number = NumberAt<int64_t>(*part.values, row);
    }
  }
  return part.descending ? ~number : number;
}

SortValues::Kept* SortValues::KeptAt(uint32_t slot) {
  const size_t first = slot * parts_.size();
  if (first == kept_.size()) kept_.resize(first + parts_.size());
  return &kept_[first];
}

void SortValues::Put(const Part& part, Wide number, Bytes text, Kept* kept) {
  kept->number = number;
  if (!part.text.has_value()) return;
  texts_.Keep(IsNull(number) ? Bytes() : text, {}, {}, &kept->text);
  kept->is_prefix = false;
  if (IsNull(number)) return;
  const std::optional<uint64_t> prefix = part.text->PrefixOf(text);
  if (!prefix.has_value()) return;
  kept->is_prefix = true;
  kept->number = part.descending ? ~Wide{*prefix} : Wide{*prefix};
}

void SortValues::Keep(RowNumber row, uint32_t slot) {
  Kept* kept = KeptAt(slot);
  for (const Part& part : parts_) {
    const Bytes text = part.text.has_value() ? part.values->As<Bytes>()[row] : Bytes();
    Put(part, NumberOf(part, row), text, kept++);
  }
}

bool SortValues::KeepOfRecord(uint32_t slot) {
  Kept* kept = KeptAt(slot);
  for (Part& part : parts_) {
    if (!part.in_record->Evaluate()) return false;
    const Wide number = rowan::NumberOf(*part.in_record, part.type.kind);
    Put(part, part.descending ? ~number : number, part.in_record->bytes(), kept++);
  }
  return true;
}

void SortValues::Clear() {
  kept_.clear();
  texts_.Clear();
}

int SortValues::CompareKeptTexts(const Part& part, const Kept& left, const Kept& right) const {
  const bool decides =
      (left.is_prefix && right.is_prefix) || IsNull(left.number) || IsNull(right.number);
  if (decides && left.number != right.number) return CompareNumbers(left.number, right.number);
  return IsNull(left.number) ? 0 : CompareTexts(part, texts_.KeyOf(left.text), right);
}

int SortValues::CompareTexts(const Part& part, Bytes text, const Kept& kept) const {
  const int order = part.text->Compare(text, texts_.KeyOf(kept.text));
  return part.descending ? -order : order;
}

int SortValues::Compare(RowNumber row, uint32_t slot) const {
  const Kept* kept = &kept_[slot * parts_.size()];
  for (const Part& part : parts_) {
    const Wide number = NumberOf(part, row);
    const bool compares_text = part.text.has_value() && !IsNull(number) && !IsNull(kept->number);
    if (compares_text) {
      const int order = CompareTexts(part, part.values->As<Bytes>()[row], *kept);
      if (order != 0) return order;
    } else if (number != kept->number) {
      return number < kept->number ? -1 : 1;
    }
    ++kept;
  }
  return 0;
}

int SortValues::CompareKept(uint32_t slot, uint32_t other) const {
  const Kept* left = &kept_[slot * parts_.size()];
  const Kept* right = &kept_[other * parts_.size()];
  for (const Part& part : parts_) {
    const int order = part.text.has_value() ? CompareKeptTexts(part, *left, *right)
                                            : CompareNumbers(left->number, right->number);
    if (order != 0) return order;
    ++left;
    ++right;
  }
  return 0;
}

template <typename T>
void SortValues::RetainNumbers(const Part& part, Wide bound, Selection* rows) const {
  // Later values decide among those that are equal in the first one.
  const Wide end = parts_.size() == 1 ? bound : bound + 1;
  const ValueVector& values = *part.values;
  if (values.has_nulls()) {
    rows->Retain([&part, end](RowNumber row) { return NumberOf(part, row) < end; });
  } else if (part.descending) {
    rows->Retain([&values, end](RowNumber row) { return ~NumberAt<T>(values, row) < end; });
  } else {
    rows->Retain([&values, end](RowNumber row) { return NumberAt<T>(values, row) < end; });
  }
}

void SortValues::RetainBefore(uint32_t slot, Selection* rows) const {
  const Part& part = parts_.front();
  const Wide bound = kept_[slot * parts_.size()].number;
  // Those with a NULL that comes last are few, and compared one by one.
  if (bound == ~kNull) return;
  switch (part.type.kind) {
    case ValueKind::kBytes:
      rows->Retain([this, slot](RowNumber row) { return Compare(row, slot) < 0; });
      break;
    case ValueKind::kUnsigned: return RetainNumbers<uint64_t>(part, bound, rows);
    case ValueKind::kWideDecimal: return RetainNumbers<Wide>(part, bound, rows);
    case ValueKind::kDouble: return RetainNumbers<double>(part, bound, rows);
    default: return RetainNumbers<int64_t>(part, bound, rows);
  }
}

}  // namespace rowan
