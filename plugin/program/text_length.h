// SPDX-License-Identifier: GPL-2.0-only
// LENGTH() and CHAR_LENGTH() of a text or of binary data -> nodes of a plan.
#pragma once

#include <memory>

#include "plugin/program/batch.h"

namespace rowan {

enum class LengthUnit : uint8_t { kBytes, kCharacters };

/// Null: the value is not kBytes.
std::unique_ptr<ValueNode> MakeTextLength(ValueId text, const ValueType& type, LengthUnit unit);

}  // namespace rowan
