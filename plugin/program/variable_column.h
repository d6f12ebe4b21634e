// SPDX-License-Identifier: GPL-2.0-only
// Variable columns of a row -> nodes of a plan. A row is put aside if a value on the way, or the
// value itself, is off the page.
#pragma once

#include <memory>

#include "plugin/program/batch.h"
#include "plugin/program/column_place.h"

namespace rowan {

std::unique_ptr<ValueNode> MakeVariableColumn(const ValueType& type, const ColumnPlace& place);

}  // namespace rowan
