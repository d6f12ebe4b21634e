// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/blocks/partial_aggregate.h"

#include <array>
#include <utility>

#include "my_byteorder.h"
#include "mysqld_error.h"
#include "sql-common/my_decimal.h"
#include "sql/current_thd.h"
#include "sql/field.h"
#include "sql/sql_class.h"

namespace rowan {
namespace {

/// Of a Wide, and of a scale with a digit before the point.
constexpr size_t kDigitsMax = 40;

/// The server's aggregate functions take values one by one. These classes are never instantiated:
/// they reach the state that a function has taken so far.
class CountState : public Item_sum_count {
 public:
  static void Set(Item_sum_count* function, longlong count) {
    function->make_const(count);  // the only way to set it, which does something else as well
    function->*(&CountState::forced_const) = false;
  }
};

class SumState : public Item_sum_sum {
 public:
  /// AVG counts, too.
  static void Add(Item_sum_sum* function, const my_decimal& sum, ulonglong count) {
    my_decimal* const buffers = function->*(&SumState::dec_buffs);
    uint& current = function->*(&SumState::curr_dec_buff);
    my_decimal_add(E_DEC_FATAL_ERROR, &buffers[current ^ 1], &sum, &buffers[current]);
    current ^= 1;
    function->null_value = false;
    if (function->sum_func() == AVG_FUNC) function->*(&SumState::m_count) += count;
  }
  static void Add(Item_sum_sum* function, double sum, ulonglong count) {
    function->*(&SumState::sum) += sum;
    function->null_value = false;
    if (function->sum_func() == AVG_FUNC) function->*(&SumState::m_count) += count;
  }
};

/// With exactly `scale` digits after the point, as values of that scale add up to.
my_decimal SumAsDecimal(Wide number, uint32_t scale) {
  std::array<char, 2 + kDigitsMax> text;  // filled from its end
  size_t at = text.size();
  const auto prepend = [&](char letter) { text[--at] = letter; };
  const bool negative = number < 0;
  auto rest =
      negative ? -static_cast<unsigned __int128>(number) : static_cast<unsigned __int128>(number);
  for (uint32_t digits = 0; rest != 0 || digits <= scale; ++digits, rest /= 10) {
    if (digits == scale && scale != 0) prepend('.');
    prepend(static_cast<char>('0' + static_cast<int>(rest % 10)));
  }
  if (negative) prepend('-');
  my_decimal value;
  str2my_decimal(E_DEC_FATAL_ERROR, &text[at], text.size() - at, &my_charset_latin1, &value);
  return value;
}

}  // namespace

bool PartialAggregate::Prepare() {
  if (sum_func() == SUM_BIT_FUNC) {
    bits_ = new (current_thd->mem_root) Item_int(ulonglong{0});
    if (bits_ == nullptr) return false;
  }
  return set_aggregator(Aggregator::SIMPLE_AGGREGATOR) == 0;
}

bool PartialAggregate::add() {
  PassOn(Target::kState);
  return current_thd->is_error();
}

void PartialAggregate::reset_field() { PassOn(Target::kNewField); }

void PartialAggregate::update_field() { PassOn(Target::kField); }

void PartialAggregate::PassOn(Target target) {
  if (!rows_->is_group()) return PassOnRow(target);
  switch (aggregate_.kind) {
    case Aggregate::Kind::kCountRows:
    case Aggregate::Kind::kCount: return PassOnCount(target, state().count);
    case Aggregate::Kind::kSum: return PassOnSum(target);
    case Aggregate::Kind::kBitAnd:
    case Aggregate::Kind::kBitOr:
    case Aggregate::Kind::kBitXor: return PassOnBits(target);
    default: return PassOnExtreme(target);
  }
}

void PartialAggregate::PassOnRow(Target target) {
  switch (target) {
    case Target::kState: function_->add(); break;
    case Target::kNewField: function_->reset_field(); break;
    case Target::kField: function_->update_field(); break;
  }
}

void PartialAggregate::PassOnCount(Target target, ulonglong rows) {
  const auto count = static_cast<longlong>(rows);
  if (target == Target::kState) {
    auto* const function = down_cast<Item_sum_count*>(function_);
    CountState::Set(function, function->val_int() + count);
    return;
  }
  uchar* const field = function_->get_result_field()->field_ptr();
  int8store(field, target == Target::kNewField ? count : sint8korr(field) + count);
}

void PartialAggregate::PassOnSum(Target target) {
  // Without a value, the argument is NULL in the group's first row.
  if (state().count == 0) return PassOnRow(target);
  if (result_type() == REAL_RESULT) return PassOnRealSum(target);
  my_decimal sum = SumAsDecimal(state().number, rows_->ScaleOf(aggregate_));
  if (target == Target::kState) {
    return SumState::Add(down_cast<Item_sum_sum*>(function_), sum, state().count);
  }
  if (sum_func() == AVG_FUNC) return PassOnAverage(target, sum);
  Field* const field = function_->get_result_field();
  if (target == Target::kField && !field->is_null()) {
    my_decimal buffer;
    my_decimal total;
    my_decimal_add(E_DEC_FATAL_ERROR, &total, &sum, field->val_decimal(&buffer));
    sum = total;
  }
  field->store_decimal(&sum);
  field->set_notnull();
}

void PartialAggregate::PassOnRealSum(Target target) {
  double sum = state().real();
  if (target == Target::kState) {
    return SumState::Add(down_cast<Item_sum_sum*>(function_), sum, state().count);
  }
  Field* const field = function_->get_result_field();
  // The first row's NULL counts as 0.0, which with -0.0 is 0.0.
  if (target == Target::kNewField) PassOnRow(target);
  const bool starts = target == Target::kNewField && !function_->get_arg(0)->null_value;
  if (!starts) sum += float8get(field->field_ptr());
  float8store(field->field_ptr(), sum);
  if (sum_func() != AVG_FUNC) return field->set_notnull();
  uchar* const counted = field->field_ptr() + sizeof(double);
  const longlong before = target == Target::kField ? sint8korr(counted) : 0;
  int8store(counted, before + static_cast<longlong>(state().count));
}

void PartialAggregate::PassOnAverage(Target target, const my_decimal& sum) {
  const auto* const function = down_cast<Item_sum_avg*>(function_);
  uchar* const field = function->get_result_field()->field_ptr();
  uchar* const counted = field + function->dec_bin_size;
  auto count = static_cast<longlong>(state().count);
  my_decimal total = sum;
  if (target == Target::kField) {
    my_decimal before;
    binary2my_decimal(E_DEC_FATAL_ERROR, field, &before, function->f_precision, function->f_scale);
    my_decimal_add(E_DEC_FATAL_ERROR, &total, &sum, &before);
    count += sint8korr(counted);
  }
  my_decimal2binary(E_DEC_FATAL_ERROR, &total, field, function->f_precision, function->f_scale);
  int8store(counted, count);
}

void PartialAggregate::PassOnBits(Target target) {
  if (state().count == 0) return PassOnRow(target);
  bits_->value = static_cast<longlong>(state().number);
  Item** const argument = function_->get_arg_ptr(0);
  Item* const of_row = std::exchange(*argument, bits_);
  PassOnRow(target);
  *argument = of_row;
}

void PartialAggregate::PassOnExtreme(Target target) {
  // The server warns of a first row without a value, at least of a DATE.
  if (state().count == 0 || target == Target::kNewField) PassOnRow(target);
  if (state().count == 0) return;
  if (target == Target::kNewField) target = Target::kField;
  Status status = rows_->ShowExtreme(number_);
  if (status.ok()) {
    PassOnRow(target);
    status = rows_->ShowFirst();
  }
  if (!status.ok()) my_error(ER_GET_ERRNO, MYF(0), 0, status.message());
}

}  // namespace rowan
