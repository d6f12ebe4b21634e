// SPDX-License-Identifier: GPL-2.0-only
// Constant: the value of an item that is the same for all rows of an execution, in the form that a
// program compares or computes with.
// Thread safety: const after Evaluate.
#pragma once

#include <string>

#include "plugin/program/value_vector.h"

class Item;

namespace rowan {

/// What an item is evaluated to.
struct ConstantForm {
  ValueKind kind = ValueKind::kSigned;
  const CHARSET_INFO* charset = nullptr;  ///< of kBytes: the character set that it must have
};

class Constant {
 public:
  Constant(Item* item, const ConstantForm& form) : item_(item), form_(form) {}

  /// False: the value cannot be used, or the evaluation failed with an error of the session.
  [[nodiscard]] bool Evaluate();

  [[nodiscard]] const ConstantForm& form() const { return form_; }
  [[nodiscard]] bool is_null() const { return is_null_; }
  /// kSigned, kUnsigned (its bits), kDatetime, kTime.
  [[nodiscard]] int64_t number() const { return number_; }
  /// kDecimal and kWideDecimal: the value times 10^scale().
  [[nodiscard]] Wide decimal() const { return decimal_; }
  [[nodiscard]] uint8_t scale() const { return scale_; }
  [[nodiscard]] double real() const { return real_; }
  [[nodiscard]] Bytes bytes() const { return AsBytes(bytes_); }

 private:
  bool EvaluateDecimal();
  bool EvaluateBytes();

  Item* const item_;
  const ConstantForm form_;
  bool is_null_ = false;
  uint8_t scale_ = 0;
  int64_t number_ = 0;
  double real_ = 0;
  Wide decimal_ = 0;
  std::string bytes_;
};

}  // namespace rowan
