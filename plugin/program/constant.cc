// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/program/constant.h"

#include "my_time.h"
#include "plugin/compat/server_line.h"
#include "plugin/program/decimal_image.h"
#include "sql-common/my_decimal.h"
#include "sql/item.h"
#include "sql/item_cmpfunc.h"
#include "sql/sql_class.h"

namespace rowan {
namespace {

/// False: it has more than kWideDigits.
bool WideOf(const my_decimal& decimal, Wide* number) {
  constexpr int kDigits = 9;
  const int scale = decimal.frac;
  const int whole = (decimal.intg + kDigits - 1) / kDigits;
  const int fraction = (scale + kDigits - 1) / kDigits;
  Wide value = 0;
  for (int i = 0; i < whole + fraction; ++i) {
    int64_t digit = decimal.buf[i];
    int digits = kDigits;
    if (i == whole + fraction - 1 && scale % kDigits != 0) {
      digits = scale % kDigits;
      digit /= static_cast<int64_t>(kPowersOf10[kDigits - digits]);
    }
    const auto power = static_cast<Wide>(kPowersOf10[digits]);
    if (__builtin_mul_overflow(value, power, &value)) return false;
    if (__builtin_add_overflow(value, Wide{digit}, &value)) return false;
  }
  if (value >= PowerOf10(kWideDigits)) return false;
  *number = decimal.sign() ? -value : value;
  return true;
}

}  // namespace

bool Constant::Evaluate() {
  if (item_ == nullptr) return true;
  is_null_ = false;
  scale_ = 0;
  switch (form_.kind) {
    case ValueKind::kSigned:
    case ValueKind::kUnsigned: {
      const longlong value = item_->val_int();
      number_ = item_->unsigned_flag ? Wide{static_cast<uint64_t>(value)} : Wide{value};
      is_null_ = item_->null_value;
      break;
    }
    case ValueKind::kDouble:
      real_ = item_->val_real();
      is_null_ = item_->null_value;
      break;
    case ValueKind::kDate:
      if (!EvaluateDate()) return false;
      break;
    case ValueKind::kDatetime:
      if (!EvaluateDatetime()) return false;
      break;
    case ValueKind::kTime:
      if (!EvaluateTime()) return false;
      break;
    case ValueKind::kDecimal:
    case ValueKind::kWideDecimal:
      if (!EvaluateDecimal()) return false;
      break;
    case ValueKind::kBytes:
      if (!EvaluateBytes()) return false;
      break;
  }
  return true;
}

bool Constant::EvaluateDate() {
  const std::optional<int64_t> number = DateNumber(item_);
  is_null_ = item_->null_value;
  number_ = number.value_or(0);
  return is_null_ || number.has_value();
}

bool Constant::EvaluateTime() {
  const std::optional<int64_t> number = TimeNumber(item_);
  is_null_ = item_->null_value;
  number_ = number.value_or(0);
  return is_null_ || number.has_value();
}

bool Constant::EvaluateDatetime() {
  if (item_->is_temporal()) {
    number_ = item_->val_date_temporal();
    is_null_ = item_->null_value;
    return true;
  }
  String buffer;
  String* const text = item_->val_str(&buffer);
  is_null_ = item_->null_value || text == nullptr;
  if (is_null_) return true;
  // What would give a warning for each row is left to the server.
  MYSQL_TIME time;
  MYSQL_TIME_STATUS status;
  const bool failed = get_mysql_time_from_str_no_warn(current_thd, text, &time, &status);
  const bool is_plain =
      !failed && status.warnings == 0 &&
      status.m_deprecation.m_kind == MYSQL_TIME_STATUS::DEPRECATION::DP_NONE &&
      (time.time_type == MYSQL_TIMESTAMP_DATETIME || time.time_type == MYSQL_TIMESTAMP_DATE);
  if (!is_plain) return false;
  number_ = TIME_to_longlong_datetime_packed(time);
  return true;
}

bool Constant::EvaluateDecimal() {
  my_decimal buffer;
  const my_decimal* const decimal = item_->val_decimal(&buffer);
  is_null_ = decimal == nullptr;
  if (is_null_) return true;
  if (decimal->frac < 0 || decimal->frac > static_cast<int>(kWideDigits)) return false;
  scale_ = static_cast<uint8_t>(decimal->frac);
  if (!WideOf(*decimal, &number_)) return false;
  if (form_.precision == 0) return true;
  const Wide end = PowerOf10(form_.precision);
  return scale_ == item_->decimals && number_ < end && number_ > -end;
}

bool Constant::EvaluateBytes() {
  String buffer;
  const bool is_binary = form_.charset == &my_charset_bin;
  const String* const text =
      is_binary ? item_->val_str(&buffer) : eval_string_arg(form_.charset, item_, &buffer);
  is_null_ = text == nullptr;
  if (is_null_) return true;
  bytes_.assign(text->ptr(), text->length());
  return true;
}

}  // namespace rowan
