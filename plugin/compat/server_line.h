// SPDX-License-Identifier: GPL-2.0-only
// What differs between the lines of MySQL that Rowan is built for, 9.7 and 8.4: the only place that
// asks for the server's version. Names here say what the server of the line has; where 8.4 lacks
// something, this is what its absence means:
// - foreign keys: 8.4 leaves them to the engines, as 9.7 does with innodb_native_foreign_keys=ON;
//   Rowan refuses them (plugin/handler/foreign_keys.h);
// - VECTOR columns and masking policies: 8.4 has none;
// - statistics of keys that only queries need: 8.4 asks for them with the number of rows.
// Thread safety: any thread, unless a function says otherwise.
#pragma once

#include <optional>
#include <string>

#include "my_base.h"
#include "mysql_version.h"
#include "sql/handler.h"
#include "sql/item_cmpfunc.h"
#include "sql/item_sum.h"
#include "sql/sql_class.h"
#include "sql/table.h"

#define ROWAN_MYSQL_8_4 (MYSQL_VERSION_ID < 90700)

#if ROWAN_MYSQL_8_4
#include "my_time.h"
#include "sql/mysqld.h"
#include "sql/set_var.h"
#include "sql/sql_show.h"
#else
#include "mysql/components/my_service.h"
#include "mysql/components/services/mysql_system_variable.h"
#include "mysql/service_plugin_registry.h"
#include "sql/table_trigger_dispatcher.h"
#endif

namespace rowan {

// --- types and flags ---

#if ROWAN_MYSQL_8_4
inline constexpr enum_field_types kVectorType = MYSQL_TYPE_INVALID;  // of no column
inline constexpr Alter_inplace_info::HA_ALTER_FLAGS kMaskingChange = 0;
inline constexpr uint kStatisticsOfUsedKeys = 0;
inline constexpr bool AsksForRecordLocks(ha_extra_function) { return false; }
inline constexpr bool EndsRecordLocks(ha_extra_function) { return false; }
#else
inline constexpr enum_field_types kVectorType = MYSQL_TYPE_VECTOR;
inline constexpr Alter_inplace_info::HA_ALTER_FLAGS kMaskingChange =
    Alter_inplace_info::ALTER_COLUMN_MASKING;
inline constexpr uint kStatisticsOfUsedKeys = HA_STATUS_CONST_WHEN_UPDATED;
inline constexpr bool AsksForRecordLocks(ha_extra_function operation) {
  return operation == HA_EXTRA_ENABLE_LOCKING_RECORD;
}
inline constexpr bool EndsRecordLocks(ha_extra_function operation) {
  return operation == HA_EXTRA_RESET_LOCKING_RECORD;
}
#endif

// --- foreign keys ---

#if ROWAN_MYSQL_8_4
inline constexpr decltype(handlerton::flags) kServerChecksForeignKeys = 0;
inline constexpr const char* kRefusedKeys = "foreign keys in MySQL 8.4";
inline constexpr const char* kRefusedChanges =
    "changes of a table with foreign keys, which MySQL 8.4 leaves to the engine";
inline bool ChecksForeignKeys(THD*) { return false; }
inline bool HasTriggers(const TABLE_SHARE&) { return false; }
inline bool IsOpenForCascade(const TABLE&) { return false; }
inline bool CascadeCountIsWrong(THD*) { return false; }
inline void ResetCascadeCount(THD*) {}
#else
inline constexpr decltype(handlerton::flags) kServerChecksForeignKeys = HTON_SUPPORTS_SQL_FK;
/// Of a server that leaves foreign keys to the engines.
inline constexpr const char* kRefusedKeys = "foreign keys with innodb_native_foreign_keys=ON";
inline constexpr const char* kRefusedChanges =
    "changes of a table with foreign keys where innodb_native_foreign_keys=ON, here or at the "
    "source of the rows, leaves them to the engine";
/// Whether the server does what foreign keys ask for, in this session.
inline bool ChecksForeignKeys(THD* thd) { return is_sql_fk_checks_enabled(thd); }
inline bool HasTriggers(const TABLE_SHARE& share) { return share.triggers != nullptr; }
inline bool IsOpenForCascade(const TABLE& table) { return table.open_for_fk_name != nullptr; }
/// The server's count of the tables of a cascade has fallen below zero.
inline bool CascadeCountIsWrong(THD* thd) {
  return static_cast<int32_t>(thd->fk_cascade_chain_tables()) < 0;
}
inline void ResetCascadeCount(THD* thd) { thd->reset_fk_cascade_chain_tables(); }
#endif

// --- conditions and values ---

#if ROWAN_MYSQL_8_4
using MultipleEquality = Item_equal;
inline constexpr Item_func::Functype kMultipleEquality = Item_func::MULT_EQUAL_FUNC;
inline bool AreEqualItems(const Item* one, const Item* other) { return one->eq(other, true); }
inline ORDER* NewOrder(MEM_ROOT* memory, Item* item) {
  auto* const order = new (memory) ORDER;
  if (order != nullptr) order->item_initial = item;
  return order;
}

inline bool ComparesTimes(const Item_func_between& item) { return item.compare_as_temporal_times; }
inline bool ComparesDates(const Item_func_between& item) {
  const auto is_date = [&](uint i) { return item.arguments()[i]->data_type() == MYSQL_TYPE_DATE; };
  return item.compare_as_temporal_dates && is_date(0) && is_date(1) && is_date(2);
}
inline bool ComparesDatetimes(const Item_func_between& item) {
  return item.compare_as_dates_with_strings ||
         (item.compare_as_temporal_dates && !ComparesDates(item));
}

/// A DATE as DateNumber() of 9.7 has it: (year * 16 + month) * 32 + day. None: NULL or an error.
inline std::optional<int64_t> DateNumber(Item* item) {
  MYSQL_TIME date;
  if (item->get_date(&date, 0)) return std::nullopt;
  return (int64_t{date.year} * 16 + date.month) * 32 + date.day;
}

/// A TIME as that of 9.7: what is negative is the ones' complement, and the bit above tells it.
inline std::optional<int64_t> TimeNumber(Item* item) {
  MYSQL_TIME time;
  if (item->get_time(&time)) return std::nullopt;
  const int64_t packed = TIME_to_longlong_time_packed(time);
  return (int64_t{1} << 47) + packed - (packed < 0 ? 1 : 0);
}

/// An aggregate that takes its temporal values from another one.
class AggregateOfAnother : public Item_sum {
 public:
  bool get_date(MYSQL_TIME* date, my_time_flags_t flags) override {
    return function_->get_date(date, flags);
  }
  bool get_time(MYSQL_TIME* time) override { return function_->get_time(time); }

 protected:
  AggregateOfAnother(THD* thd, Item_sum* function) : Item_sum(thd, function), function_(function) {}
  Item_sum* const function_;
};
#else
using MultipleEquality = Item_multi_eq;
inline constexpr Item_func::Functype kMultipleEquality = Item_func::MULTI_EQ_FUNC;
inline bool AreEqualItems(const Item* one, const Item* other) { return one->eq(other); }
inline ORDER* NewOrder(MEM_ROOT* memory, Item* item) { return new (memory) ORDER(item); }

inline bool ComparesTimes(const Item_func_between& item) { return item.compare_as_times; }
inline bool ComparesDates(const Item_func_between& item) { return item.compare_as_dates; }
inline bool ComparesDatetimes(const Item_func_between& item) {
  return item.compare_as_datetimes_with_strings || item.compare_as_datetimes;
}

/// The number that the server compares a DATE by. None: NULL or an error.
inline std::optional<int64_t> DateNumber(Item* item) {
  Date_val date;
  return item->val_date(&date, 0) ? std::nullopt : std::optional<int64_t>(date.for_comparison());
}

/// The number that the server compares a TIME by. None: NULL or an error.
inline std::optional<int64_t> TimeNumber(Item* item) {
  Time_val time;
  return item->val_time(&time) ? std::nullopt : std::optional<int64_t>(time.for_comparison());
}

/// An aggregate that takes its temporal values from another one.
class AggregateOfAnother : public Item_sum {
 public:
  bool val_date(Date_val* date, my_time_flags_t flags) override {
    return function_->val_date(date, flags);
  }
  bool val_time(Time_val* time) override { return function_->val_time(time); }
  bool val_datetime(Datetime_val* datetime, my_time_flags_t flags) override {
    return function_->val_datetime(datetime, flags);
  }

 protected:
  AggregateOfAnother(THD* thd, Item_sum* function) : Item_sum(thd, function), function_(function) {}
  Item_sum* const function_;
};
#endif

// --- variables ---

/// A variable of the server or of a plugin in this session, as text; "" if there is none.
#if ROWAN_MYSQL_8_4
inline std::string VariableText(THD* thd, const char* name) {
  std::string text;
  const auto read = [&](const System_variable_tracker&, sys_var* variable) {
    SHOW_VAR shown{variable->name.str, reinterpret_cast<char*>(variable), SHOW_SYS,
                   SHOW_SCOPE_UNDEF};
    std::string buffer(SHOW_VAR_FUNC_BUFF_SIZE + 1, 0);
    size_t bytes = 0;
    mysql_mutex_lock(&LOCK_global_system_variables);
    const char* const value = get_one_variable(thd, &shown, OPT_SESSION, SHOW_SYS, nullptr, nullptr,
                                               buffer.data(), &bytes);
    text.assign(value, bytes);
    mysql_mutex_unlock(&LOCK_global_system_variables);
  };
  System_variable_tracker::make_tracker(name).access_system_variable(thd, read,
                                                                     Suppress_not_found_error::YES);
  return text;
}
#else
inline std::string VariableText(THD* thd, const char* name) {
  SERVICE_TYPE(registry)* const registry = mysql_plugin_registry_acquire();
  std::string text;
  {
    const my_service<SERVICE_TYPE(mysql_system_variable_reader)> reader(
        "mysql_system_variable_reader", registry);
    std::string buffer(1024, 0);
    // Where that is too short, the first answer is how long it has to be.
    for (int attempt = 0; reader.is_valid() && attempt < 2; ++attempt) {
      void* value = buffer.data();
      size_t bytes = buffer.size();
      if (!reader->get(thd, "SESSION", "mysql_server", name, &value, &bytes)) {
        text.assign(static_cast<const char*>(value), bytes);
        break;
      }
      if (bytes <= buffer.size()) break;
      buffer.resize(bytes);
    }
  }
  mysql_plugin_registry_release(registry);
  return text;
}
#endif

}  // namespace rowan
