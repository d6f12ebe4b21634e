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
  const CHARSET_INFO* charset = nullptr;  ///< of kBytes: converted to this character set
  /// Of decimals: not 0 if the value must have the item's scale and at most so many digits.
  uint8_t precision = 0;
};

class Constant {
 public:
  Constant(Item* item, const ConstantForm& form) : item_(item), form_(form) {}
  /// Of no item: a whole number.
  explicit Constant(int64_t number) : item_(nullptr), form_(), number_(number) {}

  /// False: the value cannot be used.
  [[nodiscard]] bool Evaluate();
  /// Null: there is none.
  [[nodiscard]] Item* item() const { return item_; }

  [[nodiscard]] ValueKind kind() const { return form_.kind; }
  [[nodiscard]] bool is_null() const { return is_null_; }
  /// Of all kinds but kDouble and kBytes: the value times 10^scale().
  [[nodiscard]] Wide number() const { return number_; }
  [[nodiscard]] uint8_t scale() const { return scale_; }
  [[nodiscard]] double real() const { return real_; }
  [[nodiscard]] Bytes bytes() const { return AsBytes(bytes_); }

 private:
  bool EvaluateDate();
  bool EvaluateDatetime();
  bool EvaluateTime();
  bool EvaluateDecimal();
  bool EvaluateBytes();

  Item* const item_;
  const ConstantForm form_;
  bool is_null_ = false;
  uint8_t scale_ = 0;
  double real_ = 0;
  Wide number_ = 0;
  std::string bytes_;
};

}  // namespace rowan
