// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/program/pair_predicate.h"

#include <algorithm>
#include <functional>

namespace rowan {
namespace {

template <typename Use>
void WithComparison(Comparison comparison, Use use) {
  switch (comparison) {
    case Comparison::kEqual: return use(std::equal_to<>());
    case Comparison::kLess: return use(std::less<>());
    case Comparison::kLessEqual: return use(std::less_equal<>());
    case Comparison::kGreater: return use(std::greater<>());
    case Comparison::kGreaterEqual: return use(std::greater_equal<>());
  }
}

enum class Domain : uint8_t {
  kShort,  ///< int64_t as they are
  kExact,  ///< Wide, brought to one scale
  kDates,  ///< packed DATETIME
  kReals,
};

/// A DATE as packed DATETIME.
int64_t PackedOf(int64_t date) {
  const int64_t months = (date >> 9) * 13 + (date >> 5 & 15);
  return (months << 5 | (date & 31)) << 41;
}

class PairPredicate final : public Predicate {
 public:
  PairPredicate(const Operand& left, Comparison comparison, const Operand& right, Domain domain)
      : left_(left), right_(right), comparison_(comparison), domain_(domain) {
    const uint8_t scale = std::max(left.type.scale, right.type.scale);
    left_power_ = PowerOf10(scale - left.type.scale);
    right_power_ = PowerOf10(scale - right.type.scale);
  }

  void Select(Answer answer, Batch* batch, Selection* rows) const override {
    const ValueVector& left = batch->Read(left_.value, rows);
    const ValueVector& right = batch->Read(right_.value, rows);
    DropNulls(left, rows);
    DropNulls(right, rows);
    const bool wanted = answer == Answer::kTrue;
    WithComparison(comparison_, [&](auto compare) {
      Keep(left, right, batch, rows, [&](auto a, auto b) { return compare(a, b) == wanted; });
    });
  }

 private:
  static void DropNulls(const ValueVector& values, Selection* rows) {
    if (!values.has_nulls()) return;
    const uint8_t* const nulls = values.nulls();
    rows->Retain([nulls](RowNumber row) { return nulls[row] == 0; });
  }

  template <typename Passes>
  void Keep(const ValueVector& left, const ValueVector& right, Batch* batch, Selection* rows,
            Passes passes) const {
    switch (domain_) {
      case Domain::kShort: {
        const auto* const a = left.As<int64_t>();
        const auto* const b = right.As<int64_t>();
        return rows->Retain([&](RowNumber row) { return passes(a[row], b[row]); });
      }
      case Domain::kExact:
        return WithNumbers<Wide>(left_, &left, [&](auto a) {
          WithNumbers<Wide>(right_, &right, [&](auto b) { KeepExact(a, b, batch, rows, passes); });
        });
      case Domain::kDates:
        return WithPacked(left_, left, [&](auto a) {
          WithPacked(right_, right, [&](auto b) {
            rows->Retain([&](RowNumber row) { return passes(a(row), b(row)); });
          });
        });
      case Domain::kReals:
        return WithReals(left_, &left, [&](auto a) {
          WithReals(right_, &right, [&](auto b) {
            rows->Retain([&](RowNumber row) { return passes(a(row), b(row)); });
          });
        });
    }
  }

  /// Numbers that are too large for one scale go aside.
  template <typename Left, typename Right, typename Passes>
  void KeepExact(Left left, Right right, Batch* batch, Selection* rows, Passes passes) const {
    rows->Retain([&](RowNumber row) {
      Wide a = 0;
      Wide b = 0;
      const bool overflows = __builtin_mul_overflow(left(row), left_power_, &a) ||
                             __builtin_mul_overflow(right(row), right_power_, &b);
      if (overflows) [[unlikely]]
        batch->PutAside(row);
      return !overflows && passes(a, b);
    });
  }

  template <typename Use>
  static void WithPacked(const Operand& operand, const ValueVector& values, Use use) {
    const auto* const numbers = values.As<int64_t>();
    if (operand.type.kind == ValueKind::kDate) {
      return use([numbers](RowNumber row) { return PackedOf(numbers[row]); });
    }
    use([numbers](RowNumber row) { return numbers[row]; });
  }

  const Operand left_;
  const Operand right_;
  const Comparison comparison_;
  const Domain domain_;
  Wide left_power_ = 1;
  Wide right_power_ = 1;
};

bool IsExact(const Operand& operand) { return operand.is_integer() || operand.is_decimal(); }
bool IsReal(const Operand& operand) {
  return operand.is_integer() || operand.type.kind == ValueKind::kDouble;
}
bool IsDay(const Operand& operand) {
  return operand.type.kind == ValueKind::kDate || operand.type.kind == ValueKind::kDatetime;
}

}  // namespace

std::unique_ptr<Predicate> MakePairPredicate(const Operand& left, Comparison comparison,
                                             const Operand& right, bool as_reals) {
  const auto make = [&](Domain domain) {
    return std::make_unique<PairPredicate>(left, comparison, right, domain);
  };
  if (as_reals) return IsReal(left) && IsReal(right) ? make(Domain::kReals) : nullptr;
  const ValueKind kind = left.type.kind;
  if (kind == right.type.kind) {
    const bool is_short = kind == ValueKind::kSigned || kind == ValueKind::kDate ||
                          kind == ValueKind::kDatetime || kind == ValueKind::kTime ||
                          (kind == ValueKind::kDecimal && left.type.scale == right.type.scale);
    if (is_short) return make(Domain::kShort);
  }
  if (IsExact(left) && IsExact(right)) return make(Domain::kExact);
  if (IsDay(left) && IsDay(right)) return make(Domain::kDates);
  return nullptr;
}

}  // namespace rowan
