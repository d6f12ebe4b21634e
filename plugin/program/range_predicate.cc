// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/program/range_predicate.h"

#include <algorithm>
#include <utility>

namespace rowan {
namespace {

/// Keeps the rows whose value is not NULL and passes. `Number`: of the vector.
template <typename Number, typename Passes>
void KeepPassing(const ValueVector& values, Selection* rows, Passes passes) {
  const auto* const numbers = values.As<Number>();
  if (!values.has_nulls()) {
    rows->Retain([&](RowNumber row) { return passes(numbers[row]); });
    return;
  }
  const uint8_t* const nulls = values.nulls();
  rows->Retain([&](RowNumber row) {
    return static_cast<bool>(static_cast<int>(passes(numbers[row])) & (nulls[row] ^ 1));
  });
}

/// Between two numbers in one comparison. `Word`: unsigned, as wide as `Number`.
template <typename Number, typename Word>
void KeepBetween(const ValueVector& values, const Interval& interval, bool inside,
                 Selection* rows) {
  const Wide low = std::max(interval.low, Wide{std::numeric_limits<Number>::min()});
  const Wide high = std::min(interval.high, static_cast<Wide>(std::numeric_limits<Number>::max()));
  if (low > high) {
    if (inside) return rows->Clear();
    return KeepPassing<Number>(values, rows, [](Number) { return true; });
  }
  const auto first = static_cast<Word>(low);
  const Word width = static_cast<Word>(high) - first;
  if (inside) {
    KeepPassing<Number>(values, rows,
                        [=](Number x) { return static_cast<Word>(x) - first <= width; });
  } else {
    KeepPassing<Number>(values, rows,
                        [=](Number x) { return static_cast<Word>(x) - first > width; });
  }
}

class NumberRange final : public Predicate {
 public:
  NumberRange(const Operand& value, std::vector<Limit> limits)
      : value_(value.value), type_(value.type), limits_(std::move(limits)) {}

  void Select(Answer answer, Batch* batch, Selection* rows) const override {
    Interval interval;
    bool has_null = false;
    for (const Limit& limit : limits_) {
      has_null = has_null || limit.constant->is_null();
      if (!limit.constant->is_null()) {
        interval.Narrow(limit.comparison, *limit.constant, type_);
      }
    }
    const bool inside = answer == Answer::kTrue;
    const ValueVector& values = batch->Read(value_, rows);
    if (inside && has_null) return rows->Clear();
    switch (type_.kind) {
      case ValueKind::kUnsigned:
        return KeepBetween<uint64_t, uint64_t>(values, interval, inside, rows);
      case ValueKind::kWideDecimal:
        return KeepBetween<Wide, unsigned __int128>(values, interval, inside, rows);
      default: return KeepBetween<int64_t, uint64_t>(values, interval, inside, rows);
    }
  }

 private:
  const ValueId value_;
  const ValueType type_;
  const std::vector<Limit> limits_;
};

bool Holds(double value, Comparison comparison, double limit) {
  switch (comparison) {
    case Comparison::kEqual: return value == limit;
    case Comparison::kLess: return value < limit;
    case Comparison::kLessEqual: return value <= limit;
    case Comparison::kGreater: return value > limit;
    case Comparison::kGreaterEqual: break;
  }
  return value >= limit;
}

class RealRange final : public Predicate {
 public:
  RealRange(const Operand& value, std::vector<Limit> limits)
      : value_(value), limits_(std::move(limits)) {}

  void Select(Answer answer, Batch* batch, Selection* rows) const override {
    const bool inside = answer == Answer::kTrue;
    const auto is_null = [](const Limit& limit) { return limit.constant->is_null(); };
    const ValueVector& values = batch->Read(value_.value, rows);
    if (inside && std::any_of(limits_.begin(), limits_.end(), is_null)) return rows->Clear();
    const uint8_t* const nulls = values.nulls();
    const bool has_nulls = values.has_nulls();
    WithReals(value_, &values, [&](auto real) {
      rows->Retain([&](RowNumber row) {
        if (has_nulls && nulls[row] != 0) return false;
        bool holds = true;
        for (const Limit& limit : limits_) {
          if (!limit.constant->is_null()) {
            holds = holds && Holds(real(row), limit.comparison, limit.constant->real());
          }
        }
        return holds == inside;
      });
    });
  }

 private:
  const Operand value_;
  const std::vector<Limit> limits_;
};

}  // namespace

std::unique_ptr<Predicate> MakeNumberRange(const Operand& value, std::vector<Limit> limits) {
  return std::make_unique<NumberRange>(value, std::move(limits));
}

std::unique_ptr<Predicate> MakeRealRange(const Operand& value, std::vector<Limit> limits) {
  return std::make_unique<RealRange>(value, std::move(limits));
}

}  // namespace rowan
