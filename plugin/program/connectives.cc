// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/program/connectives.h"

#include <utility>

namespace rowan {
namespace {

/// Takes the rows of a set, and those put aside, from a selection.
void TakeAway(const RowSet& gone, const Batch& batch, Selection* rows) {
  RowSet all = gone;
  all.AddAll(batch.aside());
  rows->Remove(all);
}

/// All parts have the answer. A row of which an earlier part has no such answer is not given to the
/// later ones.
void SelectAll(const Predicates& parts, Answer answer, Batch* batch, Selection* rows) {
  for (const std::unique_ptr<Predicate>& part : parts) {
    if (rows->empty()) return;
    part->Select(answer, batch, rows);
  }
}

/// Some part has it. A row that an earlier part has decided is not given to the later ones.
void SelectAny(const Predicates& parts, Answer answer, Batch* batch, Selection* rows) {
  RowSet found;
  Selection left = *rows;
  for (const std::unique_ptr<Predicate>& part : parts) {
    if (left.empty()) break;
    Selection some = left;
    part->Select(answer, batch, &some);
    const RowSet now = some.AsSet();
    found.AddAll(now);
    TakeAway(now, *batch, &left);
  }
  rows->SelectAll(found);
}

/// Every part is given every row, for what its evaluation may have to leave to the server. All
/// parts have the answer.
void SelectAllOfEach(const Predicates& parts, Answer answer, Batch* batch, Selection* rows) {
  Selection given = *rows;
  for (const std::unique_ptr<Predicate>& part : parts) {
    Selection some = given;
    part->Select(answer, batch, &some);
    const RowSet now = some.AsSet();
    rows->Retain([&now](RowNumber row) { return now.Has(row); });
    given.Remove(batch->aside());
  }
  rows->Remove(batch->aside());
}

/// The same, and some part has the answer.
void SelectAnyOfEach(const Predicates& parts, Answer answer, Batch* batch, Selection* rows) {
  RowSet found;
  for (const std::unique_ptr<Predicate>& part : parts) {
    Selection some = *rows;
    part->Select(answer, batch, &some);
    found.AddAll(some.AsSet());
    rows->Remove(batch->aside());
  }
  rows->Retain([&found](RowNumber row) { return found.Has(row); });
}

/// A row must be given to each part that the server evaluates for it: what this part cannot do (an
/// overflow) the server does, with its error or warning. One part too many does no harm.
class And final : public Predicate {
 public:
  And(Predicates parts, AndStops stops) : parts_(std::move(parts)), stops_(stops) {}
  void Select(Answer answer, Batch* batch, Selection* rows) const override {
    if (answer == Answer::kTrue) {
      if (stops_ == AndStops::kAtNull) return SelectAll(parts_, answer, batch, rows);
      return SelectAllOfEach(parts_, answer, batch, rows);
    }
    if (stops_ == AndStops::kNever) return SelectAnyOfEach(parts_, answer, batch, rows);
    SelectAny(parts_, answer, batch, rows);
  }

 private:
  const Predicates parts_;
  const AndStops stops_;
};

/// The server goes on after NULL, and stops at what is true.
class Or final : public Predicate {
 public:
  explicit Or(Predicates parts) : parts_(std::move(parts)) {}
  void Select(Answer answer, Batch* batch, Selection* rows) const override {
    if (answer == Answer::kFalse) return SelectAllOfEach(parts_, answer, batch, rows);
    SelectAny(parts_, answer, batch, rows);
  }

 private:
  const Predicates parts_;
};

class Not final : public Predicate {
 public:
  explicit Not(std::unique_ptr<Predicate> part) : part_(std::move(part)) {}
  void Select(Answer answer, Batch* batch, Selection* rows) const override {
    part_->Select(Opposite(answer), batch, rows);
  }

 private:
  const std::unique_ptr<Predicate> part_;
};

class Xor final : public Predicate {
 public:
  Xor(std::unique_ptr<Predicate> left, std::unique_ptr<Predicate> right)
      : left_(std::move(left)), right_(std::move(right)) {}

  void Select(Answer answer, Batch* batch, Selection* rows) const override {
    Selection rest = *rows;
    left_->Select(Answer::kTrue, batch, rows);
    TakeAway(rows->AsSet(), *batch, &rest);
    left_->Select(Answer::kFalse, batch, &rest);
    right_->Select(Opposite(answer), batch, rows);
    right_->Select(answer, batch, &rest);
    RowSet found = rows->AsSet();
    found.AddAll(rest.AsSet());
    rows->SelectAll(found);
  }

 private:
  const std::unique_ptr<Predicate> left_;
  const std::unique_ptr<Predicate> right_;
};

/// Never NULL.
class IsAnswer final : public Predicate {
 public:
  IsAnswer(std::unique_ptr<Predicate> part, Answer answer, bool negated)
      : part_(std::move(part)), answer_(answer), negated_(negated) {}

  void Select(Answer answer, Batch* batch, Selection* rows) const override {
    const bool wants_others = (answer == Answer::kFalse) != negated_;
    if (!wants_others) return part_->Select(answer_, batch, rows);
    Selection some = *rows;
    part_->Select(answer_, batch, &some);
    TakeAway(some.AsSet(), *batch, rows);
  }

 private:
  const std::unique_ptr<Predicate> part_;
  const Answer answer_;
  const bool negated_;
};

class IsNull final : public Predicate {
 public:
  explicit IsNull(ValueId value) : value_(value) {}
  void Select(Answer answer, Batch* batch, Selection* rows) const override {
    const ValueVector& values = batch->Read(value_, rows);
    const uint8_t* const nulls = values.nulls();
    const bool wants_null = answer == Answer::kTrue;
    if (!values.has_nulls()) {
      if (wants_null) rows->Clear();
      return;
    }
    const uint8_t wanted = wants_null ? 1 : 0;
    rows->Retain([=](RowNumber row) { return nulls[row] == wanted; });
  }

 private:
  const ValueId value_;
};

class IsNullConstant final : public Predicate {
 public:
  explicit IsNullConstant(const Constant* constant) : constant_(constant) {}
  void Select(Answer answer, Batch*, Selection* rows) const override {
    if (constant_->is_null() != (answer == Answer::kTrue)) rows->Clear();
  }

 private:
  const Constant* const constant_;
};

}  // namespace

std::unique_ptr<Predicate> MakeAnd(Predicates parts, AndStops stops) {
  if (parts.size() == 1) return std::move(parts[0]);
  return std::make_unique<And>(std::move(parts), stops);
}

std::unique_ptr<Predicate> MakeOr(Predicates parts) {
  if (parts.size() == 1) return std::move(parts[0]);
  return std::make_unique<Or>(std::move(parts));
}

std::unique_ptr<Predicate> MakeNot(std::unique_ptr<Predicate> part) {
  return std::make_unique<Not>(std::move(part));
}

std::unique_ptr<Predicate> MakeXor(std::unique_ptr<Predicate> left,
                                   std::unique_ptr<Predicate> right) {
  return std::make_unique<Xor>(std::move(left), std::move(right));
}

std::unique_ptr<Predicate> MakeIsAnswer(std::unique_ptr<Predicate> part, Answer answer,
                                        bool negated) {
  return std::make_unique<IsAnswer>(std::move(part), answer, negated);
}

std::unique_ptr<Predicate> MakeIsNull(ValueId value) { return std::make_unique<IsNull>(value); }

std::unique_ptr<Predicate> MakeIsNull(const Constant* constant) {
  return std::make_unique<IsNullConstant>(constant);
}

}  // namespace rowan
