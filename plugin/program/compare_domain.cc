// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/program/compare_domain.h"

#include <algorithm>

#include "sql/item.h"
#include "sql/item_cmpfunc.h"

#include "plugin/compat/server_line.h"

namespace rowan {

ConstantForm CompareDomain::Form() const {
  switch (as) {
    case CompareAs::kIntegers: return {.kind = ValueKind::kSigned};
    case CompareAs::kDecimals: return {.kind = ValueKind::kWideDecimal};
    case CompareAs::kReals: return {.kind = ValueKind::kDouble};
    case CompareAs::kDates: return {.kind = ValueKind::kDate};
    case CompareAs::kDatetimes: return {.kind = ValueKind::kDatetime};
    case CompareAs::kTimes: return {.kind = ValueKind::kTime};
    case CompareAs::kText: break;
  }
  return {.kind = ValueKind::kBytes, .charset = collation};
}

bool CompareDomain::Has(ValueKind kind) const {
  const bool is_integer = kind == ValueKind::kSigned || kind == ValueKind::kUnsigned;
  switch (as) {
    case CompareAs::kIntegers: return is_integer;
    case CompareAs::kDecimals:
      return is_integer || kind == ValueKind::kDecimal || kind == ValueKind::kWideDecimal;
    case CompareAs::kReals: return is_integer || kind == ValueKind::kDouble;
    case CompareAs::kDates: return kind == ValueKind::kDate;
    case CompareAs::kDatetimes: return kind == ValueKind::kDate || kind == ValueKind::kDatetime;
    case CompareAs::kTimes: return kind == ValueKind::kTime;
    case CompareAs::kText: break;
  }
  return kind == ValueKind::kBytes;
}

namespace {

bool IsDay(const Item* item) {
  return item->data_type() == MYSQL_TYPE_DATE || item->data_type() == MYSQL_TYPE_DATETIME;
}
bool IsText(const Item* item) {
  return item->result_type() == STRING_RESULT && !item->is_temporal() &&
         item->data_type() != MYSQL_TYPE_JSON;
}
bool HasType(const Item* item, enum_field_types type) { return item->data_type() == type; }

std::optional<CompareDomain> Refused(const char** reason) {
  *reason = "comparison in another type";
  return std::nullopt;
}

std::optional<CompareDomain> TemporalDomain(const Item* left, const Item* right,
                                            const char** reason) {
  if (HasType(left, MYSQL_TYPE_TIME) && HasType(right, MYSQL_TYPE_TIME)) {
    return CompareDomain{CompareAs::kTimes};
  }
  if (HasType(left, MYSQL_TYPE_DATE) && HasType(right, MYSQL_TYPE_DATE)) {
    return CompareDomain{CompareAs::kDates};
  }
  if (HasType(left, MYSQL_TYPE_YEAR) && HasType(right, MYSQL_TYPE_YEAR)) {
    return CompareDomain{CompareAs::kIntegers};
  }
  const bool is_known = (IsDay(left) || IsText(left)) && (IsDay(right) || IsText(right));
  if (is_known) return CompareDomain{CompareAs::kDatetimes};
  return Refused(reason);
}

}  // namespace

std::optional<CompareDomain> DomainOf(const Arg_comparator& comparator, const char** reason) {
  const Item* const left = *comparator.get_left_ptr();
  const Item* const right = comparator.get_right();
  if (comparator.use_custom_value_extractors()) return TemporalDomain(left, right, reason);
  if (comparator.compare_as_json()) return Refused(reason);
  const bool are_times = left->is_temporal() && right->is_temporal();
  switch (comparator.get_compare_type()) {
    case INT_RESULT:
      if (are_times) return Refused(reason);
      return CompareDomain{CompareAs::kIntegers};
    case DECIMAL_RESULT: return CompareDomain{CompareAs::kDecimals};
    case REAL_RESULT: {
      // Otherwise almost equal numbers are equal.
      const bool is_plain = std::max(left->decimals, right->decimals) >= DECIMAL_NOT_SPECIFIED;
      if (!is_plain) return Refused(reason);
      return CompareDomain{CompareAs::kReals};
    }
    case STRING_RESULT:
      if (!IsText(left) || !IsText(right)) return Refused(reason);
      return CompareDomain{CompareAs::kText, comparator.cmp_collation.collation};
    default: return Refused(reason);
  }
}

std::optional<CompareDomain> DomainOf(Item_func_between* item, const char** reason) {
  Item** const arguments = item->arguments();
  const auto all = [&](auto test) { return std::all_of(arguments, arguments + 3, test); };
  if (ComparesDatetimes(*item)) {
    const bool are_days = all([](const Item* one) { return IsDay(one) || IsText(one); });
    if (!are_days) return Refused(reason);
    return CompareDomain{CompareAs::kDatetimes};
  }
  if (ComparesTimes(*item)) return CompareDomain{CompareAs::kTimes};
  if (ComparesDates(*item)) return CompareDomain{CompareAs::kDates};
  switch (item->cmp_type) {
    case INT_RESULT:
      if (!all([](const Item* one) { return one->result_type() == INT_RESULT; })) {
        return Refused(reason);
      }
      return CompareDomain{CompareAs::kIntegers};
    case DECIMAL_RESULT: return CompareDomain{CompareAs::kDecimals};
    case REAL_RESULT: return CompareDomain{CompareAs::kReals};
    case STRING_RESULT:
      if (!all(IsText)) return Refused(reason);
      return CompareDomain{CompareAs::kText, item->compare_collation()};
    default: return Refused(reason);
  }
}

std::optional<CompareDomain> DomainOf(Item_func_in* item, const char** reason) {
  Item** const arguments = item->arguments();
  Item** const end = arguments + item->argument_count();
  // A literal NULL has no say.
  const auto all = [&](auto test) {
    return std::all_of(arguments, end, [&](Item* one) {
      return one->real_item()->type() == Item::NULL_ITEM || test(one);
    });
  };
  const auto has_result = [](Item_result result) {
    return [result](const Item* one) { return one->result_type() == result; };
  };
  // One by one, the server compares integers by their bits: -1 is the greatest BIGINT UNSIGNED.
  const Item* const value = arguments[0];
  const bool by_bits =
      item->m_const_array == nullptr && value->result_type() == INT_RESULT && !all([&](Item* one) {
        return one->result_type() != INT_RESULT || one->unsigned_flag == value->unsigned_flag;
      });
  if (by_bits) return Refused(reason);
  if (all(has_result(INT_RESULT))) return CompareDomain{CompareAs::kIntegers};
  const bool are_exact = all([](const Item* one) {
    return one->result_type() == INT_RESULT || one->result_type() == DECIMAL_RESULT;
  });
  if (are_exact) {
    // Several types are compared pair by pair; the results of each are exact.
    return CompareDomain{CompareAs::kDecimals};
  }
  if (all(IsText)) return CompareDomain{CompareAs::kText, item->compare_collation()};
  const auto has_type = [](enum_field_types type) {
    return [type](const Item* one) { return one->data_type() == type; };
  };
  if (all(has_type(MYSQL_TYPE_DATE))) return CompareDomain{CompareAs::kDates};
  if (all(has_type(MYSQL_TYPE_DATETIME))) return CompareDomain{CompareAs::kDatetimes};
  if (all(has_type(MYSQL_TYPE_TIME))) return CompareDomain{CompareAs::kTimes};
  return Refused(reason);
}

}  // namespace rowan
