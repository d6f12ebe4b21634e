// SPDX-License-Identifier: GPL-2.0-only
// SQL functions of the plugin, registered while it is installed: those of durable_functions.h and
// backup_functions.h. All return an integer.
// Thread safety: the two functions below from plugin initialisation and deinitialisation only.
#pragma once

#include <span>

#include "mysql/udf_registration_types.h"

namespace rowan {

struct SqlFunction {
  const char* name;
  Udf_func_longlong body;
  Udf_func_init initialize;
  bool registered = false;
};

/// Stores the message of a refusal known when the statement is prepared; returns true.
bool RefuseCall(char* message, const char* text);

/// For functions without arguments whose result is never NULL and varies.
bool InitializeWithoutArguments(UDF_INIT* init, UDF_ARGS* arguments, char* message);

/// False if the server refuses; nothing is registered then.
bool RegisterFunctions();
/// False if a statement is using one of them; all of them stay registered then.
bool UnregisterFunctions();

}  // namespace rowan
