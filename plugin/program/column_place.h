// SPDX-License-Identifier: GPL-2.0-only
// ColumnPlace: where the entries of an index have a column. Constant after construction.
#pragma once

#include <optional>
#include <vector>

#include "plugin/codec/table_layout.h"
#include "plugin/program/selection.h"

namespace rowan {

struct ColumnPlace {
  enum class Form : uint8_t {
    kFixedInRow,     ///< at `offset` of the value
    kVariableInRow,  ///< after the other variable columns of `before`
    kFixedInKey,     ///< at `offset` of the key
    kPartOfKey,      ///< part number `part`, after parts of any length
  };
  /// The null bit of a column in rows.
  struct NullBit {
    uint32_t offset = 0;  ///< of the value
    uint8_t bit = 0;      ///< 0: NOT NULL
    [[nodiscard]] bool IsSet(Bytes row) const {
      return (static_cast<uint8_t>(row[offset]) & bit) != 0;
    }
  };

  Form form = Form::kFixedInRow;
  uint32_t offset = 0;
  uint32_t part = 0;
  bool nullable = false;
  NullBit null_bit{};             ///< of the forms in rows
  std::vector<NullBit> before{};  ///< variable columns before this one

  [[nodiscard]] bool in_key() const {
    return form == Form::kFixedInKey || form == Form::kPartOfKey;
  }
};

/// nullopt, with a reason: the entries do not have the column in a form that programs read.
std::optional<ColumnPlace> FindColumn(const TableLayout& layout, uint32_t index_number,
                                      uint32_t column, const char** reason);

}  // namespace rowan
