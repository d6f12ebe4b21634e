// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/program/date_part.h"

#include "plugin/program/operand.h"

namespace rowan {
namespace {

/// `months`: of the year, and 1 to 12 or 0.
int64_t PartOf(DatePart part, uint64_t year, uint64_t month, uint64_t day) {
  switch (part) {
    case DatePart::kYear: return static_cast<int64_t>(year);
    case DatePart::kMonth: return static_cast<int64_t>(month);
    case DatePart::kDay: return static_cast<int64_t>(day);
    case DatePart::kYearMonth: break;
  }
  return static_cast<int64_t>(year * 100 + month);
}

class DatePartNode final : public ValueNode {
 public:
  DatePartNode(const ValueType& type, ValueId date, bool has_time, DatePart part)
      : ValueNode(type), date_(date), has_time_(has_time), part_(part) {}

  void Compute(Batch* batch, Selection* rows, ValueVector* values) const override {
    const ValueVector& dates = batch->Read(date_, rows);
    CombineNulls(&dates, nullptr, *rows, values);
    const auto* const numbers = dates.As<uint64_t>();
    auto* const target = values->As<int64_t>();
    if (has_time_) {
      for (const RowNumber row : *rows) {
        const uint64_t day = numbers[row] >> 41;
        const uint64_t months = day >> 5;
        target[row] = PartOf(part_, months / 13, months % 13, day & 31);
      }
      return;
    }
    for (const RowNumber row : *rows) {
      const uint64_t date = numbers[row];
      target[row] = PartOf(part_, date >> 9, date >> 5 & 15, date & 31);
    }
  }

 private:
  const ValueId date_;
  const bool has_time_;
  const DatePart part_;
};

}  // namespace

std::unique_ptr<ValueNode> MakeDatePart(ValueId date, const ValueType& type, DatePart part) {
  if (type.kind != ValueKind::kDate && type.kind != ValueKind::kDatetime) return nullptr;
  ValueType result{.kind = ValueKind::kSigned, .precision = 6, .nullable = type.nullable};
  return std::make_unique<DatePartNode>(result, date, type.kind == ValueKind::kDatetime, part);
}

}  // namespace rowan
