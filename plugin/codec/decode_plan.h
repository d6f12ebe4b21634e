// SPDX-License-Identifier: GPL-2.0-only
// DecodePlan: how rows become records, compiled for the columns that a reader wants. For rows as
// nearly all are: of the table's present form, with the wanted values in the row and short.
// Thread safety: constant between two calls of Compile.
#pragma once

#include <cstdint>
#include <vector>

#include "plugin/codec/fixed_step.h"

struct MY_BITMAP;

namespace rowan {

struct ColumnInfo;
struct TableLayout;

struct DecodePlan {
  /// What becomes of the next variable value in a row.
  enum class Form : uint8_t {
    kUnwanted,
    kShortVarchar,  ///< with one byte of length
    kLongVarchar,   ///< with two
    kPadded,        ///< CHAR, padded with single spaces
    kOther,
  };
  struct Variable {
    Form form = Form::kOther;
    uint8_t null_bit = 0;  ///< 0: NOT NULL
    uint32_t null_offset = 0;
    uint32_t offset = 0;  ///< as in ColumnInfo
    uint32_t length = 0;
    const ColumnInfo* column = nullptr;
  };

  /// `wanted`: null: all columns. The layout outlives the plan and stays as it is.
  void Compile(const TableLayout& layout, const MY_BITMAP* wanted);

  size_t fixed_bytes = 0;        ///< of a row before its variable columns
  std::byte first_byte{0};       ///< of a row of the present form
  bool plain_key = false;        ///< the steps take all from the key, too (plain_key.h)
  size_t key_bytes = 0;          ///< of a plain key, at least
  std::vector<FixedStep> fixed;  ///< first those of the row; also columns that nobody wants
  size_t fixed_of_row = 0;
  std::vector<Variable> variables;  ///< in the row's order, up to the last wanted one
};

}  // namespace rowan
