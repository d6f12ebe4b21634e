// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/program/like_predicate.h"

#include "plugin/program/like_pattern.h"

namespace rowan {
namespace {

class Like final : public Predicate {
 public:
  explicit Like(const LikeForm& form) : form_(form), pattern_(form.collation, form.escape) {}

  void TakePattern() { pattern_.Set(form_.pattern->bytes()); }

  void Select(Answer answer, Batch* batch, Selection* rows) const override {
    if (form_.pattern->is_null()) return rows->Clear();
    const ValueVector& values = batch->Read(form_.value, rows);
    const auto* const texts = values.As<Bytes>();
    const uint8_t* const nulls = values.nulls();
    const bool has_nulls = values.has_nulls();
    const bool wanted = answer == Answer::kTrue;
    rows->Retain([&](RowNumber row) {
      return !(has_nulls && nulls[row] != 0) && pattern_.Matches(texts[row]) == wanted;
    });
  }

 private:
  const LikeForm form_;
  LikePattern pattern_;
};

}  // namespace

std::unique_ptr<Predicate> MakeLike(const LikeForm& form, BatchPlan* plan) {
  auto like = std::make_unique<Like>(form);
  plan->AddStep([made = like.get()] {
    made->TakePattern();
    return true;
  });
  return like;
}

}  // namespace rowan
