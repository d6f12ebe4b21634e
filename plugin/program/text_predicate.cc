// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/program/text_predicate.h"

#include <algorithm>
#include <utility>

#include "mysql/strings/m_ctype.h"
#include "plugin/program/text_compare.h"

namespace rowan {

bool HasCharsetOf(const ValueType& type, const CHARSET_INFO* collation) {
  return type.charset != nullptr && my_charset_same(type.charset, collation);
}

namespace {

bool Holds(const TextCompare& compare, Bytes value, Comparison comparison, Bytes limit) {
  switch (comparison) {
    case Comparison::kEqual: return compare.Equal(value, limit);
    case Comparison::kLess: return compare.Compare(value, limit) < 0;
    case Comparison::kLessEqual: return compare.Compare(value, limit) <= 0;
    case Comparison::kGreater: return compare.Compare(value, limit) > 0;
    case Comparison::kGreaterEqual: break;
  }
  return compare.Compare(value, limit) >= 0;
}

class TextRange final : public Predicate {
 public:
  TextRange(ValueId value, const CHARSET_INFO* collation, std::vector<Limit> limits)
      : value_(value), compare_(collation), limits_(std::move(limits)) {}

  void Select(Answer answer, Batch* batch, Selection* rows) const override {
    const bool inside = answer == Answer::kTrue;
    const auto is_null = [](const Limit& limit) { return limit.constant->is_null(); };
    if (inside && std::any_of(limits_.begin(), limits_.end(), is_null)) return rows->Clear();
    const ValueVector& values = batch->Read(value_, rows);
    const auto* const texts = values.As<Bytes>();
    const uint8_t* const nulls = values.nulls();
    const bool has_nulls = values.has_nulls();
    rows->Retain([&](RowNumber row) {
      if (has_nulls && nulls[row] != 0) return false;
      const bool holds = std::all_of(limits_.begin(), limits_.end(), [&](const Limit& limit) {
        return limit.constant->is_null() ||
               Holds(compare_, texts[row], limit.comparison, limit.constant->bytes());
      });
      return holds == inside;
    });
  }

 private:
  const ValueId value_;
  const TextCompare compare_;
  const std::vector<Limit> limits_;
};

class TextPair final : public Predicate {
 public:
  TextPair(ValueId left, Comparison comparison, ValueId right, const CHARSET_INFO* collation)
      : left_(left), right_(right), comparison_(comparison), compare_(collation) {}

  void Select(Answer answer, Batch* batch, Selection* rows) const override {
    const ValueVector& left = batch->Read(left_, rows);
    const ValueVector& right = batch->Read(right_, rows);
    const bool wanted = answer == Answer::kTrue;
    rows->Retain([&](RowNumber row) {
      const bool is_null = (left.has_nulls() && left.nulls()[row] != 0) ||
                           (right.has_nulls() && right.nulls()[row] != 0);
      return !is_null &&
             Holds(compare_, left.As<Bytes>()[row], comparison_, right.As<Bytes>()[row]) == wanted;
    });
  }

 private:
  const ValueId left_;
  const ValueId right_;
  const Comparison comparison_;
  const TextCompare compare_;
};

}  // namespace

std::unique_ptr<Predicate> MakeTextRange(ValueId value, const CHARSET_INFO* collation,
                                         std::vector<Limit> limits) {
  return std::make_unique<TextRange>(value, collation, std::move(limits));
}

std::unique_ptr<Predicate> MakeTextPair(ValueId left, Comparison comparison, ValueId right,
                                        const CHARSET_INFO* collation) {
  return std::make_unique<TextPair>(left, comparison, right, collation);
}

}  // namespace rowan
