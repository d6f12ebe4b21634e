// SPDX-License-Identifier: GPL-2.0-only
// Predicate: a condition on the rows of a batch. A row's answer is true, false or NULL, so a
// predicate can select by each of the first two.
// Thread safety: const after BatchPlan::Prepare.
#pragma once

#include "plugin/program/batch.h"

namespace rowan {

enum class Answer : uint8_t { kTrue, kFalse };

[[nodiscard]] constexpr Answer Opposite(Answer answer) {
  return answer == Answer::kTrue ? Answer::kFalse : Answer::kTrue;
}

class Predicate {
 public:
  Predicate() = default;
  virtual ~Predicate() = default;
  Predicate(const Predicate&) = delete;
  Predicate& operator=(const Predicate&) = delete;

  /// Keeps those of `*rows` that have this answer. Rows that it cannot decide are put aside and
  /// are not kept.
  virtual void Select(Answer answer, Batch* batch, Selection* rows) const = 0;
};

}  // namespace rowan
