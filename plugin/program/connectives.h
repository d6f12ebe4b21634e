// SPDX-License-Identifier: GPL-2.0-only
// Predicates made of predicates, with the server's three-valued logic.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "plugin/program/predicate.h"

namespace rowan {

using Predicates = std::vector<std::unique_ptr<Predicate>>;

/// At which answer of a part the server does not evaluate the next ones.
enum class AndStops : uint8_t {
  kNever,    ///< BETWEEN
  kAtFalse,  ///< AND
  kAtNull,   ///< AND where NULL and false are the same: at false, too
};

std::unique_ptr<Predicate> MakeAnd(Predicates parts, AndStops stops);
std::unique_ptr<Predicate> MakeOr(Predicates parts);
std::unique_ptr<Predicate> MakeNot(std::unique_ptr<Predicate> part);
std::unique_ptr<Predicate> MakeXor(std::unique_ptr<Predicate> left,
                                   std::unique_ptr<Predicate> right);
/// IS TRUE, IS FALSE and, negated, IS NOT TRUE, IS NOT FALSE.
std::unique_ptr<Predicate> MakeIsAnswer(std::unique_ptr<Predicate> part, Answer answer,
                                        bool negated);
/// IS NULL, of a value.
std::unique_ptr<Predicate> MakeIsNull(ValueId value);
std::unique_ptr<Predicate> MakeIsNull(const Constant* constant);

}  // namespace rowan
