// SPDX-License-Identifier: GPL-2.0-only
// Changing a system variable while the server runs. `apply` acts on the engine; the check function
// runs it so that SET can fail, the update function again for SET ... = DEFAULT, which is not
// checked. Thread safety: the server serialises changes.
#pragma once

#include <string>

#include "my_sys.h"
#include "mysql/plugin.h"
#include "mysqld_error.h"
#include "typelib.h"

#include "base/logging.h"
#include "base/status.h"

class THD;

namespace rowan {

/// Raises the client error for a refused value.
inline int RefuseValue(SYS_VAR*, Status status) {
  my_printf_error(ER_WRONG_VALUE_FOR_VAR, "The Rowan variable was not changed: %s", MYF(0),
                  status.message());
  return 1;
}

template <typename T, Status (*apply)(T)>
void UpdateTo(THD*, SYS_VAR*, void* target, const void* wanted) {
  const T value = *static_cast<const T*>(wanted);
  if (value != *static_cast<T*>(target)) {
    const Status status = apply(value);
    if (!status.ok()) {
      LogWarning("A system variable keeps its value: {}.", status.message());
      return;
    }
  }
  *static_cast<T*>(target) = value;
}

template <typename T, const auto& limits, Status (*apply)(T)>
int CheckNumber(THD*, SYS_VAR* variable, void* wanted, st_mysql_value* value) {
  long long number = 0;
  if (value->val_int(value, &number) != 0) {
    return RefuseValue(variable, Status(Code::kInvalidArgument, "it is not a number"));
  }
  if (number < 0 || static_cast<unsigned long long>(number) < limits.least ||
      static_cast<unsigned long long>(number) > limits.greatest) {
    return RefuseValue(variable, Status(Code::kInvalidArgument, "the value is out of range"));
  }
  const Status status = apply(static_cast<T>(number));
  if (!status.ok()) return RefuseValue(variable, status);
  *static_cast<T*>(wanted) = static_cast<T>(number);
  return 0;
}

/// Name or number of an enumeration value; false if it is neither.
inline bool EnumIndex(st_mysql_value* value, const TYPELIB& types, unsigned long* index) {
  if (value->value_type(value) == MYSQL_VALUE_TYPE_STRING) {
    char buffer[64];
    int length = sizeof(buffer);
    const char* text = value->val_str(value, buffer, &length);
    if (text == nullptr) return false;
    const int found = find_type(std::string(text, static_cast<size_t>(length)).c_str(), &types,
                                FIND_TYPE_NO_PREFIX);
    if (found <= 0) return false;
    *index = static_cast<unsigned long>(found - 1);
    return true;
  }
  long long number = 0;
  if (value->val_int(value, &number) != 0 || number < 0) return false;
  if (static_cast<size_t>(number) >= types.count) return false;
  *index = static_cast<unsigned long>(number);
  return true;
}

template <const TYPELIB* types, Status (*apply)(unsigned long)>
int CheckEnum(THD*, SYS_VAR* variable, void* wanted, st_mysql_value* value) {
  unsigned long index = 0;
  if (!EnumIndex(value, *types, &index)) {
    return RefuseValue(variable, Status(Code::kInvalidArgument, "it is none of the known names"));
  }
  const Status status = apply(index);
  if (!status.ok()) return RefuseValue(variable, status);
  *static_cast<unsigned long*>(wanted) = index;
  return 0;
}

}  // namespace rowan
