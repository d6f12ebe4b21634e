// SPDX-License-Identifier: GPL-2.0-only
// YEAR(), MONTH(), DAYOFMONTH() and EXTRACT() of a DATE or DATETIME -> nodes of a plan.
#pragma once

#include <memory>

#include "plugin/program/batch.h"

namespace rowan {

enum class DatePart : uint8_t { kYear, kMonth, kDay, kYearMonth };

/// Null: the value is neither.
std::unique_ptr<ValueNode> MakeDatePart(ValueId date, const ValueType& type, DatePart part);

}  // namespace rowan
