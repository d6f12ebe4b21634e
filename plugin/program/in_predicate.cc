// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/program/in_predicate.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "plugin/program/interval.h"
#include "plugin/program/text_compare.h"

namespace rowan {
namespace {

/// What IN has to do with any kind: a value that is not found is not in the list only if no
/// constant is NULL.
class InList : public Predicate {
 public:
  InList(ValueId value, std::vector<const Constant*> constants)
      : value_(value), constants_(std::move(constants)) {}

  virtual void Prepare() {
    has_null_ = std::any_of(constants_.begin(), constants_.end(),
                            [](const Constant* constant) { return constant->is_null(); });
  }

 protected:
  template <typename Value, typename Contains>
  void Keep(Answer answer, Batch* batch, Selection* rows, Contains contains) const {
    const bool wanted = answer == Answer::kTrue;
    const ValueVector& values = batch->Read(value_, rows);
    if (!wanted && has_null_) return rows->Clear();
    const auto* const target = values.As<Value>();
    const uint8_t* const nulls = values.nulls();
    const bool has_nulls = values.has_nulls();
    rows->Retain([&](RowNumber row) {
      return !(has_nulls && nulls[row] != 0) && contains(target[row]) == wanted;
    });
  }

  const ValueId value_;
  const std::vector<const Constant*> constants_;

 private:
  bool has_null_ = false;
};

template <typename Number>
class InNumbers final : public InList {
 public:
  InNumbers(ValueId value, const ValueType& type, std::vector<const Constant*> constants)
      : InList(value, std::move(constants)), type_(type) {}

  void Prepare() override {
    InList::Prepare();
    numbers_.clear();
    for (const Constant* constant : constants_) {
      if (constant->is_null()) continue;
      Interval equal{std::numeric_limits<Number>::min(), std::numeric_limits<Number>::max()};
      equal.Narrow(Comparison::kEqual, *constant, type_);
      if (!equal.empty()) numbers_.push_back(static_cast<Number>(equal.low));
    }
    std::sort(numbers_.begin(), numbers_.end());
  }

  void Select(Answer answer, Batch* batch, Selection* rows) const override {
    constexpr size_t kFew = 8;
    if (numbers_.size() <= kFew) {
      return Keep<Number>(answer, batch, rows, [this](Number value) {
        bool found = false;
        for (const Number number : numbers_) found |= number == value;
        return found;
      });
    }
    Keep<Number>(answer, batch, rows, [this](Number value) {
      return std::binary_search(numbers_.begin(), numbers_.end(), value);
    });
  }

 private:
  const ValueType type_;
  std::vector<Number> numbers_;
};

class InTexts final : public InList {
 public:
  InTexts(ValueId value, const CHARSET_INFO* collation, std::vector<const Constant*> constants)
      : InList(value, std::move(constants)), compare_(collation) {}

  void Prepare() override {
    InList::Prepare();
    texts_.clear();
    for (const Constant* constant : constants_) {
      if (!constant->is_null()) texts_.push_back(constant->bytes());
    }
    std::sort(texts_.begin(), texts_.end(),
              [this](Bytes left, Bytes right) { return compare_.Compare(left, right) < 0; });
  }

  void Select(Answer answer, Batch* batch, Selection* rows) const override {
    constexpr size_t kFew = 8;
    if (texts_.size() <= kFew) {
      return Keep<Bytes>(answer, batch, rows, [this](Bytes value) {
        return std::any_of(texts_.begin(), texts_.end(),
                           [&](Bytes text) { return compare_.Equal(value, text); });
      });
    }
    Keep<Bytes>(answer, batch, rows, [this](Bytes value) {
      return std::binary_search(
          texts_.begin(), texts_.end(), value,
          [this](Bytes left, Bytes right) { return compare_.Compare(left, right) < 0; });
    });
  }

 private:
  const TextCompare compare_;
  std::vector<Bytes> texts_;
};

std::unique_ptr<Predicate> Prepared(std::unique_ptr<InList> list, BatchPlan* plan) {
  plan->AddStep([made = list.get()] {
    made->Prepare();
    return true;
  });
  return list;
}

}  // namespace

std::unique_ptr<Predicate> MakeIn(ValueId value, const CHARSET_INFO* collation,
                                  std::vector<const Constant*> constants, BatchPlan* plan) {
  if (collation != nullptr) {
    return Prepared(std::make_unique<InTexts>(value, collation, std::move(constants)), plan);
  }
  const ValueType& type = plan->TypeOf(value);
  if (type.kind == ValueKind::kUnsigned) {
    return Prepared(std::make_unique<InNumbers<uint64_t>>(value, type, std::move(constants)), plan);
  }
  return Prepared(std::make_unique<InNumbers<int64_t>>(value, type, std::move(constants)), plan);
}

}  // namespace rowan
